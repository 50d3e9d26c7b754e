/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Which sessions follow an address space. */
#ifndef KW_TRACK_H
#define KW_TRACK_H

#include "ksession.h"
#include "kvisit.h"

struct kw_space;

/* A session follows an address space. */
struct kw_track {
	struct kw_member of_session;
	struct list_head of_space;  /* changes under kw_lock, read under RCU */
	struct kw_session *session; /* is there for a grace period more */
	struct kw_space *space;
	/* Of the session's events; changes under kw_lock, read under RCU. */
	struct kw_share *share;
	struct kw_share *fresh; /* for it, while it isn't known, or NULL */
	struct pid *pid;        /* of the process that it was found by */
	struct rcu_head rcu;
};

/* Tell all of them; pid is each one's own. */
void kw_tracks_tell(const struct list_head *tracks,
		    const struct ow_kunwind_event *what);

/* Note in all of them that something of that user's could not be followed. */
void kw_tracks_miss(const struct list_head *tracks, kuid_t uid);

/*
 * Have them tell of another user's process from now on, as far as there is memory; the
 * caller holds kw_lock.
 */
void kw_tracks_renew(const struct list_head *tracks, struct kw_user *user);

#endif /* KW_TRACK_H */
