/* SPDX-License-Identifier: BSD-2-Clause */
/* Processes that share another one's memory, but are none of its threads (clone(2)). */
#ifndef OW_SHARERS_H
#define OW_SHARERS_H

#include <stdbool.h>
#include <sys/types.h>

enum ow_sharing {
	OW_SHARING_NONE,
	OW_SHARING_FOUND,
	OW_SHARING_UNKNOWN, /* there are too many to be looked at in time */
	OW_SHARING_UNASKED, /* no process could be started to look */
};

/*
 * Does another process than pid share the memory of its thread tid?  All processes are
 * compared, its parent and those that were started after it first, for up to a fifth of
 * a second of CPU time, which is enough for some ten thousand, or a second.  Processes
 * that we may not look at, or a kernel without kcmp(2), don't tell.
 */
enum ow_sharing ow_sharers_look(pid_t pid, pid_t tid);

/*
 * Return true if to look for them now takes no more than a small part of our time, as
 * it does for each of many samples.
 */
bool ow_sharers_are_due(void);

#endif /* OW_SHARERS_H */
