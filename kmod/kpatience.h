/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Locks of another process, which may be held for as long as that process likes: the
 * server of a FUSE file system need not answer it meanwhile.
 */
#ifndef KW_PATIENCE_H
#define KW_PATIENCE_H

#include <linux/delay.h>
#include <linux/sched/signal.h>

#define KW_TRIES 1000 /* each of which takes a millisecond at most */

/*
 * After a try to take a lock that failed: wait a moment.  *tries is 0 at first.
 * Return 0: try again; -EINTR; or -EBUSY: that was long enough.
 */
static inline int kw_wait_a_moment(unsigned int *tries)
{
	if (fatal_signal_pending(current))
		return -EINTR;
	if ((*tries)++ == KW_TRIES)
		return -EBUSY;
	usleep_range(500, 1000);
	return 0;
}

#endif /* KW_PATIENCE_H */
