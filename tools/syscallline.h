/* SPDX-License-Identifier: BSD-2-Clause */
/* A system call as a line of text. */
#ifndef OW_SYSCALLLINE_H
#define OW_SYSCALLLINE_H

#include <stdio.h>

#include "syscallbegun.h"
#include "syscallsite.h"

/* A call's name; return how many characters that were. */
int syscallline_put_name(FILE *out, int nr);

/*
 * The call with its result, as strace(1) has them, where it was made, and the
 * lines of the stack, if site has them.  end is NULL if it doesn't return, site
 * if it isn't known.  Brief is less than SYSCALLTEXT_BRIEF bytes.
 */
void syscallline_print(FILE *out, const struct syscall_begun *b,
		       const struct ow_recorded_syscall *end,
		       const struct syscallsite *site, bool is_brief);

/* About how many bytes that takes where it isn't brief. */
uint64_t syscallline_size(const struct syscall_begun *b,
			  const struct ow_recorded_syscall *end,
			  const struct syscallsite *site);

/* Is it an error's number? */
bool syscallline_is_error(int64_t result);

#endif /* OW_SYSCALLLINE_H */
