/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Who follows an address space: a list of sessions. */
#ifndef KW_TRACK_H
#define KW_TRACK_H

#include "ksession.h"

struct kw_space;

/* A session follows an address space. */
struct kw_track {
	struct list_head of_session, of_space;
	struct kw_session *session;
	struct kw_space *space;
	struct kw_share *share; /* of the session's events */
	struct pid *pid;        /* of the process that it was found by */
};

/* Tell all of them; pid is each one's own. */
void kw_tracks_tell(const struct list_head *tracks,
		    const struct ow_kunwind_event *what);

/* Have them tell of another user's process from now on, as far as there is memory. */
void kw_tracks_renew(const struct list_head *tracks, struct kw_user *user);

#endif /* KW_TRACK_H */
