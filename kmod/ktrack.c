// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#include "ktrack.h"

void kw_tracks_tell(const struct list_head *tracks,
		    const struct ow_kunwind_event *what)
{
	const struct kw_track *t;

	list_for_each_entry(t, tracks, of_space)
		if (!READ_ONCE(t->session->closed))
			kw_events_put(&t->session->events, t->share, what,
				      t->pid);
}

void kw_tracks_renew(const struct list_head *tracks, struct kw_user *user)
{
	struct kw_share *share;
	struct kw_track *t;

	list_for_each_entry(t, tracks, of_space) {
		share = kw_events_join(&t->session->events, user);
		if (!share)
			continue;
		kw_events_leave(&t->session->events, t->share);
		t->share = share;
	}
}
