/* SPDX-License-Identifier: BSD-2-Clause */
/* The names of what system calls' arguments are made of. */
#ifndef OW_SYSCALLFLAGS_H
#define OW_SYSCALLFLAGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The value of an argument as strace(1) writes it: names of flags, or of what is
 * chosen, by a letter of struct ow_syscall_shape.  False if there is none of it,
 * and what is in buf means nothing.
 */
bool ow_syscallflags_text(char kind, uint64_t value, char *buf, size_t size);

/*
 * What argument i of a call is, whose shape has those letters; '\0' if it has none
 * such: a call may take less, and a file's mode or a command's argument means
 * something only where an argument before says so.
 */
char ow_syscallflags_kind(const char *kinds, const uint64_t *args,
			  unsigned int i);

#endif /* OW_SYSCALLFLAGS_H */
