/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Who uses kunwind: an open file, with the tables and processes it brought. */
#ifndef KW_SESSION_H
#define KW_SESSION_H

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>

#include "kevents.h"

struct cred;
struct kw_user;

struct kw_session {
	struct kref ref;
	const struct cred *cred; /* the opener's */
	bool privileged;         /* its tables count for all processes */
	struct kw_user *user;
	struct pid_namespace *ns;
	struct kw_events events;
	struct work_struct free;
	struct rcu_head rcu;
	struct mutex relinking; /* held to put new tables into maps */
	struct list_head uses;  /* struct kw_use, under uses_lock */
	/* Under kw_lock: */
	bool closed;
	struct list_head tracks; /* struct kw_track */
	unsigned int nr_tracks;
	/* Under heirs_lock: */
	struct list_head heirs; /* struct heir */
	unsigned int nr_heirs;
};

/*
 * Which session follows which space: lists of all sessions and spaces.  Every fork and
 * exec of a process that is followed takes it, so that it is held for moments.  Within
 * it, the locks of events and of users are taken.
 */
extern spinlock_t kw_lock;

/* One for the opener of a file, by its credentials. */
struct kw_session *kw_session_create(void);

static inline void kw_session_get(struct kw_session *s)
{
	kref_get(&s->ref);
}

void kw_session_put(struct kw_session *s);

#endif /* KW_SESSION_H */
