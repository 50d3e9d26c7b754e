/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How much of files a run reads to know whether they are written to, and which of them
 * are equal.  Processes can map any number of large files, and the recorder does nothing
 * else while it reads them.  What was read comes back as time goes by; a user other than
 * root gets half of it at most.
 */
#ifndef OW_WATCHSHARE_H
#define OW_WATCHSHARE_H

#include <stdint.h>
#include <sys/types.h>

enum ow_watchshare {
	OW_WATCHSHARE_BEGIN, /* as a file is opened */
	OW_WATCHSHARE_AGAIN, /* again, while it is in use */
	OW_WATCHSHARE_LAST,  /* again, as it is closed, or the run ends */
	OW_WATCHSHARE_ALIKE, /* to compare a file with another one */
	OW_NR_WATCHSHARES
};

/* How many bytes may be read now for that user's processes; uid -1: nobody knows whose. */
uint64_t ow_watchshare_left(enum ow_watchshare which, uid_t user);

/* How often this thread has waited for a disk so far: ru_majflt of getrusage(2). */
uint64_t ow_watchshare_waits(void);

/* So many bytes were read, and so many waits are over: they count for more. */
void ow_watchshare_spend(enum ow_watchshare which, uid_t user, uint64_t bytes,
			 uint64_t waits);

#endif /* OW_WATCHSHARE_H */
