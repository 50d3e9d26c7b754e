/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What a session has to be told: events, read by its device's file.
 *
 * All users' processes share the room for them.  A user may have at most half of what
 * others leave free, but for privileged users and the session's own.  Events of one
 * user come in their order; the next one is of that user whose events took the reader
 * the least time.
 */
#ifndef KW_EVENTS_H
#define KW_EVENTS_H

#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/pid.h>
#include <linux/spinlock.h>
#include <linux/uidgid.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "ow_kunwind.h"

struct kw_user;
struct user_namespace;

/* An event with whom it is about; pid is translated when it is read. */
struct kw_event {
	struct list_head list; /* of a share, or of those that are free */
	struct ow_kunwind_event what;
	struct pid *pid; /* a reference */
};

/* What a session has of processes, of which each user may have a part. */
enum kw_part {
	KW_PART_TRACKS, /* that may add events */
	KW_PART_HEIRS,  /* whose children are followed, too */
	KW_PARTS
};

/* Events of one user's processes; under the lock of all. */
struct kw_share {
	struct list_head list;    /* of all shares */
	struct list_head waiting; /* of those that have something to tell */
	struct list_head events;  /* the oldest first */
	struct kw_user *user;     /* a reference */
	unsigned int parts[KW_PARTS];
	unsigned int nr;
	u64 lost;   /* after the last one that waits */
	u64 served; /* ns that the reader took, or was ahead of it */
	bool gone;  /* taken out, so that what is added is lost */
	struct rcu_head rcu;
};

struct kw_events {
	spinlock_t lock;
	wait_queue_head_t wait;
	struct work_struct wake; /* of those who wait */
	struct mutex polling;    /* held to begin to wait by poll() */
	bool crowded;            /* more wanted to wait than may */
	struct kw_user *own;     /* the session's */
	struct kw_event *room;   /* NULL until something may happen */
	struct list_head free;
	struct list_head shares, waiting;
	unsigned int nr; /* that wait */
	u64 newest;      /* the number of the last one that was added */
	u64 least; /* what the share that was taken last had been served */
	struct kw_share *taken; /* whose event the reader has, or NULL */
	u64 taken_at;           /* since when, in ns */
	bool missed;            /* a process that could not be followed */
	kuid_t missed_of;       /* whose; not valid: of several users */
	bool miss_due;          /* what was taken last was a miss */
};

void kw_events_init(struct kw_events *e, struct kw_user *own);
/* Events that are put after it are lost; may sleep. */
void kw_events_deinit(struct kw_events *e);

/* Make room, if there is none yet; may sleep.  -ENOMEM. */
int kw_events_begin(struct kw_events *e);

/* One without a user, which isn't any events' yet; kfree() frees it if it isn't used. */
struct kw_share *kw_share_alloc(gfp_t gfp);

/*
 * The share of a user, for one more of a part: one that there is, or else *fresh, which
 * is NULL then.  NULL: there is neither.  Here and below, atomic context.
 */
struct kw_share *kw_events_join(struct kw_events *e, struct kw_user *user,
				enum kw_part part, struct kw_share **fresh);
/* For one less; its events that wait stay. */
void kw_events_leave(struct kw_events *e, struct kw_share *share,
		     enum kw_part part);

/*
 * Return true if a share that joined may stay, so that all users have nr of max: a user
 * may have at most half of what others leave free.  The caller has the lock that all
 * join and leave the part under.
 */
bool kw_share_fits(const struct kw_events *e, const struct kw_share *share,
		   enum kw_part part, unsigned int nr, unsigned int max);

/*
 * Add an event, or note that there was no room.  What is added to a share that was
 * left, or to events that are given back, is lost: both are there for a grace period.
 */
void kw_events_put(struct kw_events *e, struct kw_share *share,
		   const struct ow_kunwind_event *what, struct pid *pid);

/*
 * Note that something of that user's could not be followed.  Events that are given back
 * tell nobody.
 */
void kw_events_miss(struct kw_events *e, kuid_t uid);

bool kw_events_any(struct kw_events *e);

/*
 * Return true if one more may wait by poll(): any number of epolls may watch one file,
 * and each costs the one that wakes them.  Else, e->crowded is set for good.  The caller
 * holds e->polling.
 */
bool kw_events_may_wait(struct kw_events *e);

/* Take the next one, pid and user as those have it; false: there is none. */
bool kw_events_take(struct kw_events *e, struct pid_namespace *ns,
		    struct user_namespace *user_ns,
		    struct ow_kunwind_event *ret);

#endif /* KW_EVENTS_H */
