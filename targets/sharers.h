/* SPDX-License-Identifier: BSD-2-Clause */
/* Processes that share another one's memory, but are none of its threads (clone(2)). */
#ifndef OW_SHARERS_H
#define OW_SHARERS_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * Return true if another process than pid shares the memory of its thread tid, or if
 * there are too many to know that in a tenth of a second.  Processes that we may not
 * look at, or a kernel without kcmp(2), don't tell.
 */
bool ow_sharers_exist(pid_t pid, pid_t tid);

/*
 * Return true if to look for them now takes no more than a small part of our time, as
 * it does for each of many samples.
 */
bool ow_sharers_are_due(void);

#endif /* OW_SHARERS_H */
