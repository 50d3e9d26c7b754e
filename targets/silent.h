/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Processes of which the kernel did not tell in time: the last few are known, so that it
 * isn't asked about them again.
 */
#ifndef OW_SILENT_H
#define OW_SILENT_H

#include <stdbool.h>
#include <sys/types.h>

/* Know the process that has this id now.  pid 0, and one that is gone, is none. */
void ow_silent_note(pid_t pid);

/*
 * Return true if the process that has this id now is known; since Linux 6.9 another one
 * that had the id before it doesn't count.
 */
bool ow_silent_has(pid_t pid);

#endif /* OW_SILENT_H */
