/* SPDX-License-Identifier: BSD-2-Clause */
/* A system call as a line of text, and who made it. */
#ifndef OW_SYSCALLLINE_H
#define OW_SYSCALLLINE_H

#include <stdbool.h>
#include <stdio.h>

#include <outwind/record.h>

struct syscall_begun;

/*
 * The name of the call's site: the first frame of s that is no stub of the C
 * library, or the innermost one.  It is borrowed from r.
 */
void syscallline_site(struct ow_recorder *r, const struct ow_recorded *s,
		      struct ow_name *name);

/*
 * The call with its result, as strace(1) has them, its site, and, if stacks, the
 * whole stack.  end is NULL if it doesn't return.
 */
void syscallline_print(FILE *out, struct ow_recorder *r,
		       const struct syscall_begun *b,
		       const struct ow_recorded_syscall *end, bool stacks);

#endif /* OW_SYSCALLLINE_H */
