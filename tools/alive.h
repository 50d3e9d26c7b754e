/* SPDX-License-Identifier: BSD-2-Clause */
/* Whether processes are still there, also where a number has become another's. */
#ifndef OW_ALIVE_H
#define OW_ALIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct alive_process;

struct alive {
	struct alive_process *all;
	size_t nr;
};

/* Add the process that has that number now.  Return false when out of memory. */
bool alive_add(struct alive *a, pid_t pid);

/*
 * Return true if any of them has threads that have not ended.  A process that has ended,
 * but that its parent has not waited for, is gone (proc(5), states Z and X); its first
 * thread may end before others do.
 */
bool alive_is_any(const struct alive *a);

void alive_free(struct alive *a);

#endif /* OW_ALIVE_H */
