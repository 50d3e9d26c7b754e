/* SPDX-License-Identifier: GPL-2.0-only */
/* Which system calls are wanted. */
#ifndef LK_SYSCALLS_H
#define LK_SYSCALLS_H

#include <linux/bitmap.h>

#define LK_MAX_SYSCALLS 1024

struct lk_syscalls {
	bool any; /* also those of 32-bit programs */
	DECLARE_BITMAP(wanted, LK_MAX_SYSCALLS);
};

/*
 * "all", or names and numbers with commas between: as the kernel has them,
 * "newstat", or as programs do, "stat".  "" is none.  0, or -EINVAL.
 */
int lk_syscalls_parse(const char *text, struct lk_syscalls *ret);

#endif /* LK_SYSCALLS_H */
