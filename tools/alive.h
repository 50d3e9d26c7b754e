/* SPDX-License-Identifier: BSD-2-Clause */
/* Whether a process is still there. */
#ifndef OW_ALIVE_H
#define OW_ALIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/*
 * Has it threads that have not ended?  Who has ended, but wasn't waited for by
 * its parent, is there no more (proc(5), states Z and X); its first thread may
 * end before others do.
 */
bool is_alive(pid_t pid);

/* Is any of them? */
bool is_any_alive(const pid_t *pids, size_t nr);

#endif /* OW_ALIVE_H */
