/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Which session follows which address space. */
#ifndef KW_FOLLOW_H
#define KW_FOLLOW_H

#include "ksession.h"
#include "kspace.h"

/* A session follows an address space. */
struct kw_track {
	struct list_head of_session, of_space;
	struct kw_session *session;
	struct kw_space *space;
	struct pid *pid; /* of the process that it was found by */
};

/* OW_KUNWIND_FOLLOW and OW_KUNWIND_UNFOLLOW. */
int kw_follow(struct kw_session *session, const struct ow_kunwind_follow *arg);
int kw_unfollow(struct kw_session *session,
		const struct ow_kunwind_follow *arg);

/* Follow current, if the session may; it is about to be in user mode. */
void kw_follow_current(struct kw_session *session);

/* All of a session; the caller holds kw_mutex. */
void kw_follow_drop_all(struct kw_session *session);

/* Nobody follows a space any more whose process is gone. */
void kw_follow_reap(struct kw_space *space);

/* Do the session's tables count in the space?  Its mutex is held. */
bool kw_follow_counts(const struct kw_session *session,
		      const struct kw_space *space);

/*
 * Tell those who follow the space, its mutex being held, of the objects that it
 * lacks the table of, but for what was so in the older map, which may be NULL.
 */
void kw_follow_lacks(struct kw_space *space, const struct kw_map *map,
		     const struct kw_map *older);

/* Where the session's tables count, the object's changed; under kw_mutex. */
void kw_follow_relink(struct kw_session *session,
		      const struct kw_object *object);

/* Processes that a session may follow. */
unsigned int kw_follow_max(const struct kw_session *session);

#endif /* KW_FOLLOW_H */
