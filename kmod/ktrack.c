// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#include "ktrack.h"

#include <linux/rculist.h>
#include <linux/slab.h>

void kw_tracks_tell(const struct list_head *tracks,
		    const struct ow_kunwind_event *what)
{
	const struct kw_track *t;

	rcu_read_lock();
	list_for_each_entry_rcu(t, tracks, of_space)
		if (!READ_ONCE(t->session->closed))
			kw_events_put(&t->session->events, READ_ONCE(t->share),
				      what, t->pid);
	rcu_read_unlock();
}

void kw_tracks_miss(const struct list_head *tracks, kuid_t uid)
{
	const struct kw_track *t;

	rcu_read_lock();
	list_for_each_entry_rcu(t, tracks, of_space)
		if (!READ_ONCE(t->session->closed))
			kw_events_miss(&t->session->events, uid);
	rcu_read_unlock();
}

void kw_tracks_renew(const struct list_head *tracks, struct kw_user *user)
{
	struct kw_share *fresh = NULL, *share;
	struct kw_track *t;

	list_for_each_entry(t, tracks, of_space) {
		/* It is small, and was paid for with the track. */
		if (!fresh)
			fresh = kw_share_alloc(GFP_ATOMIC | __GFP_NOWARN);
		share = kw_events_join(&t->session->events, user,
				       KW_PART_TRACKS, &fresh);
		if (!share)
			continue;
		kw_events_leave(&t->session->events, t->share, KW_PART_TRACKS);
		WRITE_ONCE(t->share, share);
	}
	kfree(fresh);
}
