/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Locks of another process, which may be held for as long as that process likes: the
 * server of a FUSE file system need not answer it meanwhile.
 */
#ifndef KW_PATIENCE_H
#define KW_PATIENCE_H

#include <linux/delay.h>
#include <linux/sched/signal.h>

/* How often all that one request needs is tried once more, a millisecond later. */
struct kw_patience {
	unsigned int left;
};

#define KW_PATIENCE 1000

/*
 * After a try to take a lock that failed: wait a moment.  Return 0: try again;
 * -EINTR; or -EBUSY: that was long enough.
 */
static inline int kw_wait_a_moment(struct kw_patience *patience)
{
	if (fatal_signal_pending(current))
		return -EINTR;
	if (!patience->left)
		return -EBUSY;
	patience->left--;
	usleep_range(500, 1000);
	return 0;
}

#endif /* KW_PATIENCE_H */
