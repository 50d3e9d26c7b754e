// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#include "ktrack.h"

bool kw_tracks_count(const struct list_head *tracks,
		     const struct kw_session *session)
{
	const struct kw_track *t;

	if (session->privileged)
		return true;
	list_for_each_entry(t, tracks, of_space)
		if (t->session == session)
			return true;
	return false;
}

void kw_tracks_tell(const struct list_head *tracks,
		    const struct ow_kunwind_event *what)
{
	const struct kw_track *t;

	list_for_each_entry(t, tracks, of_space)
		if (!READ_ONCE(t->session->closed))
			kw_events_put(&t->session->events, what, t->pid);
}
