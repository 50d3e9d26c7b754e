// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#include "kevents.h"

#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/pid_namespace.h>
#include <linux/slab.h>
#include <linux/user_namespace.h>

#include "kqueue.h"
#include "kstats.h"
#include "kuser.h"

#define ROOM OW_KUNWIND_FILE_EVENTS

/* ns for one event, of a reader that stands still. */
#define MOST_SERVED (10ULL * NSEC_PER_SEC)

static void wake(struct work_struct *work)
{
	struct kw_events *e = container_of(work, struct kw_events, wake);

	wake_up_interruptible(&e->wait);
}

void kw_events_init(struct kw_events *e, struct kw_user *own)
{
	spin_lock_init(&e->lock);
	mutex_init(&e->polling);
	INIT_WORK(&e->wake, wake);
	init_waitqueue_head(&e->wait);
	INIT_LIST_HEAD(&e->free);
	INIT_LIST_HEAD(&e->shares);
	INIT_LIST_HEAD(&e->waiting);
	e->own = own;
}

/* Who reads tracks under RCU may have it still. */
static void share_free(struct kw_share *s)
{
	if (!s)
		return;
	kw_user_put(s->user);
	kfree_rcu(s, rcu);
}

static void put_pids(const struct kw_share *s)
{
	struct kw_event *at;

	list_for_each_entry(at, &s->events, list)
		put_pid(at->pid);
}

void kw_events_deinit(struct kw_events *e)
{
	struct kw_event *room;
	struct kw_share *s, *next;
	LIST_HEAD(shares);

	spin_lock(&e->lock);
	room = e->room;
	e->room = NULL;
	list_splice_init(&e->shares, &shares);
	spin_unlock(&e->lock);
	cancel_work_sync(&e->wake);
	list_for_each_entry_safe(s, next, &shares, list) {
		put_pids(s);
		share_free(s);
	}
	kvfree(room);
}

int kw_events_begin(struct kw_events *e)
{
	struct kw_event *room, *old;
	unsigned int i;

	if (READ_ONCE(e->room))
		return 0;
	room = kvcalloc(ROOM, sizeof(*room), GFP_KERNEL_ACCOUNT);
	if (!room)
		return -ENOMEM;
	spin_lock(&e->lock);
	old = e->room;
	if (!old) {
		for (i = 0; i < ROOM; i++)
			list_add_tail(&room[i].list, &e->free);
		WRITE_ONCE(e->room, room);
	}
	spin_unlock(&e->lock);
	if (old)
		kvfree(room);
	return 0;
}

/* The caller holds the lock, here and below. */
static struct kw_share *find(const struct kw_events *e,
			     const struct kw_user *user)
{
	struct kw_share *s;

	list_for_each_entry(s, &e->shares, list)
		if (s->user == user)
			return s;
	return NULL;
}

struct kw_share *kw_share_alloc(gfp_t gfp)
{
	struct kw_share *s = kzalloc(sizeof(*s), gfp);

	if (!s)
		return NULL;
	INIT_LIST_HEAD(&s->waiting);
	INIT_LIST_HEAD(&s->events);
	return s;
}

struct kw_share *kw_events_join(struct kw_events *e, struct kw_user *user,
				enum kw_part part, struct kw_share **fresh)
{
	struct kw_share *s;

	spin_lock(&e->lock);
	s = find(e, user);
	if (!s && *fresh) {
		s = *fresh;
		*fresh = NULL;
		s->user = kw_user_share(user);
		list_add(&s->list, &e->shares);
	}
	if (s)
		s->parts[part]++;
	spin_unlock(&e->lock);
	return s;
}

/* Take a share out that nobody needs; it is the caller's to free, or NULL. */
static struct kw_share *take_out(struct kw_events *e, struct kw_share *s)
{
	if (s->parts[KW_PART_TRACKS] || s->parts[KW_PART_HEIRS] ||
	    !list_empty(&s->waiting))
		return NULL;
	list_del(&s->list);
	s->gone = true;
	if (e->taken == s)
		e->taken = NULL;
	return s;
}

void kw_events_leave(struct kw_events *e, struct kw_share *share,
		     enum kw_part part)
{
	struct kw_share *gone;

	spin_lock(&e->lock);
	share->parts[part]--;
	gone = take_out(e, share);
	spin_unlock(&e->lock);
	share_free(gone);
}

/*
 * Return true if the share may have its own of all users' nr, of which max are allowed:
 * the session's own user and privileged ones may have all.
 */
static bool fits(const struct kw_events *e, const struct kw_share *s,
		 unsigned int own, unsigned int nr, unsigned int max)
{
	if (nr > max)
		return false;
	return s->user == e->own || kw_user_is_privileged(s->user) ||
	       2 * own <= max - (nr - own);
}

bool kw_share_fits(const struct kw_events *e, const struct kw_share *share,
		   enum kw_part part, unsigned int nr, unsigned int max)
{
	return fits(e, share, share->parts[part], nr, max);
}

static bool has_room(const struct kw_events *e, const struct kw_share *s)
{
	return fits(e, s, s->nr + 1, e->nr + 1, ROOM);
}

static void add(struct kw_events *e, struct kw_share *s,
		const struct ow_kunwind_event *what, struct pid *pid)
{
	struct kw_event *at = list_first_entry(&e->free, struct kw_event, list);

	at->what = *what;
	at->what.nr = ++e->newest;
	at->pid = get_pid(pid);
	list_move_tail(&at->list, &s->events);
	s->nr++;
	e->nr++;
}

static void put(struct kw_events *e, struct kw_share *s,
		const struct ow_kunwind_event *what, struct pid *pid)
{
	if (!s->lost && has_room(e, s)) {
		add(e, s, what, pid);
	} else {
		s->lost++;
		kw_count(events_lost);
	}
	if (list_empty(&s->waiting)) {
		s->served = max(s->served, e->least);
		list_add_tail(&s->waiting, &e->waiting);
	}
}

/*
 * Each thread that reads may wait, so that waking them takes as long as its user likes;
 * and the caller may hold locks that each fork takes.  The caller holds the lock, so that
 * no work is queued of events that are given back.
 */
static void wake_later(struct kw_events *e)
{
	if (wq_has_sleeper(&e->wait))
		kw_queue(&e->wake);
}

void kw_events_put(struct kw_events *e, struct kw_share *share,
		   const struct ow_kunwind_event *what, struct pid *pid)
{
	spin_lock(&e->lock);
	/* Nobody follows that process any more, or nobody reads. */
	if (!e->room || share->gone) {
		kw_count(events_lost);
	} else {
		put(e, share, what, pid);
		wake_later(e);
	}
	spin_unlock(&e->lock);
}

void kw_events_miss(struct kw_events *e, kuid_t uid)
{
	spin_lock(&e->lock);
	if (e->missed && !uid_eq(e->missed_of, uid))
		uid = INVALID_UID;
	e->missed = true;
	e->missed_of = uid;
	kw_count(events_lost);
	/* Else they may be given back, and nothing may wake anybody after that. */
	if (e->room)
		wake_later(e);
	spin_unlock(&e->lock);
}

bool kw_events_any(struct kw_events *e)
{
	return !list_empty(&e->waiting) || READ_ONCE(e->missed);
}

bool kw_events_may_wait(struct kw_events *e)
{
	const struct list_head *at;
	unsigned int nr = 0;

	spin_lock_irq(&e->wait.lock);
	for (at = e->wait.head.next;
	     at != &e->wait.head && nr < OW_KUNWIND_MAX_POLLS; at = at->next)
		nr++;
	spin_unlock_irq(&e->wait.lock);
	if (nr < OW_KUNWIND_MAX_POLLS)
		return true;
	WRITE_ONCE(e->crowded, true);
	return false;
}

/* The reader is done with what it took before. */
static void settle(struct kw_events *e, u64 now)
{
	if (e->taken)
		e->taken->served += min_t(u64, now - e->taken_at, MOST_SERVED);
	e->taken = NULL;
	e->taken_at = now;
}

/* The share that was served least of those that have something to tell, or NULL. */
static struct kw_share *next_share(const struct kw_events *e)
{
	struct kw_share *s, *next = NULL;

	list_for_each_entry(s, &e->waiting, waiting)
		if (!next || s->served < next->served)
			next = s;
	return next;
}

/* The oldest event of a share, or that some are lost; its pid, or NULL. */
static struct pid *take_from(struct kw_events *e, struct kw_share *s,
			     struct ow_kunwind_event *ret)
{
	struct kw_event *at;

	if (!s->nr) {
		*ret = (struct ow_kunwind_event){
			.kind = OW_KUNWIND_EV_LOST,
			.nr = s->lost,
		};
		s->lost = 0;
		return NULL;
	}
	at = list_first_entry(&s->events, struct kw_event, list);
	*ret = at->what;
	list_move(&at->list, &e->free);
	s->nr--;
	e->nr--;
	return at->pid;
}

/* Its turn is over: it waits for the next one, or has nothing more to tell. */
static void end_turn(struct kw_events *e, struct kw_share *s)
{
	e->least = s->served;
	e->taken = s;
	if (s->nr || s->lost)
		list_move_tail(&s->waiting, &e->waiting);
	else
		list_del_init(&s->waiting);
}

/* Return true if a miss is to be told now: there is an event between two of them. */
static bool is_miss_due(struct kw_events *e)
{
	e->miss_due = e->missed && (!e->miss_due || list_empty(&e->waiting));
	return e->miss_due;
}

static void take_miss(struct kw_events *e, struct user_namespace *user_ns,
		      struct ow_kunwind_event *ret)
{
	*ret = (struct ow_kunwind_event){
		.kind = OW_KUNWIND_EV_LOST,
		.uid = from_kuid(user_ns, e->missed_of),
	};
	e->missed = false;
}

bool kw_events_take(struct kw_events *e, struct pid_namespace *ns,
		    struct user_namespace *user_ns,
		    struct ow_kunwind_event *ret)
{
	struct kw_share *s = NULL, *gone = NULL;
	struct pid *pid = NULL;
	bool any;

	spin_lock(&e->lock);
	settle(e, ktime_get_ns());
	any = kw_events_any(e);
	if (is_miss_due(e))
		take_miss(e, user_ns, ret);
	else
		s = next_share(e);
	if (s) {
		pid = take_from(e, s, ret);
		ret->uid = from_kuid(user_ns, kw_user_uid(s->user));
		ret->privileged = kw_user_is_privileged(s->user);
		end_turn(e, s);
		gone = take_out(e, s);
	}
	ret->newest = e->newest;
	spin_unlock(&e->lock);
	share_free(gone);
	if (pid)
		ret->pid = pid_nr_ns(pid, ns);
	put_pid(pid);
	return any;
}
