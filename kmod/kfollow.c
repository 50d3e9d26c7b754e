// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#include "kfollow.h"

#include <linux/cred.h>
#include <linux/module.h>
#include <linux/rculist.h>
#include <linux/sched/coredump.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "kcontext.h"
#include "kmm.h"
#include "kpatience.h"
#include "kptrace.h"
#include "kuser.h"

#define MAY_TRIES 8 /* of a task that executes one program after another */
#define TRACK_PRICE                                          \
	(sizeof(struct kw_track) + sizeof(struct kw_space) + \
	 sizeof(struct kw_share))

/*
 * How often one change of tables tries again, a millisecond later, where a map is being
 * made.  It is left then to who makes the map.
 */
#define RELINK_PATIENCE 20

static unsigned int max_followed = 16384;
module_param(max_followed, uint, 0644);
MODULE_PARM_DESC(max_followed,
		 "processes that a privileged session may follow");

static unsigned int max_followed_user = 256;
module_param(max_followed_user, uint, 0644);
MODULE_PARM_DESC(max_followed_user,
		 "processes that another session may follow");

static LIST_HEAD(all_spaces); /* those with tracks, under kw_lock */

unsigned int kw_follow_max(const struct kw_session *session)
{
	return session->privileged ? READ_ONCE(max_followed) :
				     READ_ONCE(max_followed_user);
}

/*
 * Is the task the opener's own, as far as its memory is concerned?  A program
 * that has had other privileges is not dumpable.
 */
static bool is_own(const struct kw_session *session, struct task_struct *task,
		   struct mm_struct *mm)
{
	kuid_t uid = session->cred->euid;
	const struct cred *cred;
	bool own;

	rcu_read_lock();
	cred = __task_cred(task);
	own = uid_eq(cred->uid, uid) && uid_eq(cred->euid, uid) &&
	      uid_eq(cred->suid, uid);
	rcu_read_unlock();
	return own && get_dumpable(mm) == SUID_DUMP_USER;
}

/* What a task executes, and by which credentials, stays as it is. */
static int lock_exec(struct task_struct *task, struct kw_patience *patience)
{
	int err = 0;

	while (!err && !down_read_trylock(&task->signal->exec_update_lock))
		err = kw_wait_a_moment(patience);
	return err;
}

/* The rest of what may_follow() asks; -EAGAIN: the mm isn't the task's any more. */
static int check_own(const struct kw_session *session, struct task_struct *task,
		     struct mm_struct *mm, struct kw_patience *patience)
{
	int err = lock_exec(task, patience);

	if (err)
		return err;
	task_lock(task);
	if (task->mm != mm)
		err = -EAGAIN;
	task_unlock(task);
	if (!err && !session->privileged && !is_own(session, task, mm))
		err = -EPERM;
	up_read(&task->signal->exec_update_lock);
	return err;
}

/*
 * ptrace_may_access() takes exec_update_lock itself on its way; as an mm that was left
 * doesn't come back, it was asked of what has the mm still after it.
 */
static int may_follow(const struct kw_session *session,
		      struct task_struct *task, struct mm_struct *mm,
		      struct kw_patience *patience)
{
	/* The opener itself may read what is its own. */
	bool itself = same_thread_group(task, current) &&
		      current_cred() == session->cred;
	int err = 0;

	if (!session->privileged && !itself)
		err = kw_ptrace_may(session->cred, task);
	return err ? err : check_own(session, task, mm, patience);
}

static void tell(const struct kw_track *t, u32 kind)
{
	struct ow_kunwind_event what = { .kind = kind };

	kw_events_put(&t->session->events, t->share, &what, t->pid);
}

/*
 * The session's track of the space, or NULL; *nr is how many sessions of its kind
 * have one.  The caller holds kw_lock.
 */
static struct kw_track *find(const struct kw_session *session,
			     const struct kw_space *space, unsigned int *nr)
{
	struct kw_track *t;

	*nr = 0;
	list_for_each_entry(t, &space->owner.tracks, of_space) {
		if (t->session == session)
			return t;
		*nr += t->session->privileged == session->privileged;
	}
	return NULL;
}

/* A track that was paid for; an error pointer. */
static struct kw_track *track_alloc(struct kw_session *session,
				    struct kw_space *space, struct pid *pid)
{
	struct kw_track *t;
	int err = kw_user_charge(session->user, TRACK_PRICE);

	if (err)
		return ERR_PTR(err);
	t = kzalloc(sizeof(*t), GFP_KERNEL_ACCOUNT);
	if (t)
		t->fresh = kw_share_alloc(GFP_KERNEL_ACCOUNT);
	if (!t || !t->fresh) {
		kw_user_uncharge(session->user, TRACK_PRICE);
		kfree(t);
		return ERR_PTR(-ENOMEM);
	}
	t->session = session;
	t->space = space;
	t->pid = get_pid(pid);
	return t;
}

static void track_free(struct rcu_head *rcu)
{
	struct kw_track *t = container_of(rcu, struct kw_track, rcu);

	kfree(t->fresh);
	put_pid(t->pid);
	kfree(t);
}

/* Have the track tell of its space's user, if it may; the caller holds kw_lock. */
static int join(struct kw_track *t)
{
	struct kw_session *session = t->session;
	struct kw_events *e = &session->events;

	t->share = kw_events_join(e, t->space->owner.user, KW_PART_TRACKS,
				  &t->fresh);
	kfree(t->fresh);
	t->fresh = NULL;
	if (kw_share_fits(e, t->share, KW_PART_TRACKS, session->nr_tracks + 1,
			  kw_follow_max(session)))
		return 0;
	kw_events_leave(e, t->share, KW_PART_TRACKS);
	return -ENOSPC;
}

/* The caller holds kw_lock. */
static void link_track(struct kw_track *t)
{
	struct kw_session *session = t->session;
	struct kw_space *space = t->space;

	session->nr_tracks++;
	list_add(&t->of_session.list, &session->tracks);
	if (list_empty(&space->owner.tracks))
		list_add(&space->all.list, &all_spaces);
	list_add_rcu(&t->of_space, &space->owner.tracks);
	kw_user_note(session->user, KW_FOLLOWED, 1);
	tell(t, OW_KUNWIND_EV_FOLLOWED);
}

/* The caller holds kw_lock, and calls drop_track() without it. */
static void unlink_track(struct kw_track *t)
{
	struct kw_session *session = t->session;
	struct kw_space *space = t->space;

	list_del_rcu(&t->of_space);
	if (list_empty(&space->owner.tracks))
		list_del(&space->all.list);
	list_del(&t->of_session.list);
	session->nr_tracks--;
	kw_user_uncharge(session->user, TRACK_PRICE);
	kw_user_note(session->user, KW_FOLLOWED, -1);
	kw_events_leave(&session->events, t->share, KW_PART_TRACKS);
}

/* What was unlinked: its session may be gone. */
static void drop_track(struct kw_track *t)
{
	kw_space_unuse(t->space);
	call_rcu(&t->rcu, track_free);
}

/*
 * Have the session follow a space that was used for it, by a track that was
 * allocated for it, or could not be; *t is NULL where it is used.  1: the session
 * does already.  The caller holds kw_lock.
 */
static int add(struct kw_session *session, struct kw_space *space,
	       struct kw_track **t)
{
	unsigned int nr;
	int err;

	if (find(session, space, &nr))
		return 1;
	if (nr >= OW_KUNWIND_MAX_SESSIONS)
		return -EUSERS;
	if (session->closed)
		return -EBADF;
	if (IS_ERR(*t))
		return PTR_ERR(*t);
	err = join(*t);
	if (err)
		return err;
	link_track(*t);
	*t = NULL;
	return 0;
}

/* The same without the lock; nothing is left of what isn't used. */
static int add_track(struct kw_session *session, struct kw_space *space,
		     struct pid *pid)
{
	struct kw_track *t = track_alloc(session, space, pid);
	int err;

	spin_lock(&kw_lock);
	err = add(session, space, &t);
	spin_unlock(&kw_lock);
	if (!IS_ERR_OR_NULL(t)) {
		kw_user_uncharge(session->user, TRACK_PRICE);
		track_free(&t->rcu);
	}
	if (err)
		kw_space_unuse(space);
	return err;
}

/*
 * Have a track; *ret is its space with a reference, whose map is still to be made.  1:
 * there is one already.
 */
static int track(struct kw_session *session, struct mm_struct *mm,
		 struct pid *pid, struct task_struct *task,
		 struct kw_space **ret)
{
	int err = kw_contexts_use();
	struct kw_space *space;

	if (!err)
		err = kw_events_begin(&session->events);
	if (err)
		return err;
	space = kw_space_use(mm, task);
	if (IS_ERR(space))
		return PTR_ERR(space);
	refcount_inc(&space->ref);
	err = add_track(session, space, pid);
	if (err < 0)
		kw_space_put(space);
	else
		*ret = space;
	return err;
}

/* Have no track of the space any more. */
static void untrack(struct kw_session *session, const struct kw_space *space)
{
	struct kw_track *t;
	unsigned int nr;

	spin_lock(&kw_lock);
	t = find(session, space, &nr);
	if (t)
		unlink_track(t);
	spin_unlock(&kw_lock);
	if (t)
		drop_track(t);
}

int kw_follow_mm(struct kw_session *session, struct mm_struct *mm,
		 struct pid *pid, struct task_struct *task,
		 struct kw_patience *patience)
{
	struct kw_space *space;
	int known = track(session, mm, pid, task, &space), err;

	if (known < 0)
		return known;
	err = kw_space_refresh(space, true, patience);
	if (!known && (err == -EBUSY || err == -EINTR || err == -ESRCH))
		untrack(session, space);
	kw_space_put(space);
	return err;
}

struct mm_struct *kw_follow_may(const struct kw_session *session,
				struct task_struct *task,
				struct kw_patience *patience)
{
	struct mm_struct *mm;
	int err = -EAGAIN, i;

	for (i = 0; i < MAY_TRIES && err == -EAGAIN; i++) {
		mm = kw_mm_of(task);
		if (!mm)
			return ERR_PTR(-ESRCH);
		err = may_follow(session, task, mm, patience);
		if (!err)
			return mm;
		mmdrop(mm);
	}
	return ERR_PTR(err == -EAGAIN ? -EBUSY : err);
}

void kw_follow_current(struct kw_session *session)
{
	struct kw_patience patience = { KW_PATIENCE };
	struct mm_struct *mm = kw_follow_may(session, current, &patience);
	struct kw_space *space;
	int err;

	if (IS_ERR(mm))
		return;
	err = track(session, mm, task_tgid(current), current, &space);
	if (err >= 0) {
		err = kw_space_refresh(space, true, &patience);
		kw_space_put(space);
		/* That there is no map may be the process' own doing. */
		if (err != -ENOSPC && err != -ENOMEM)
			err = 0;
	}
	if (err < 0)
		kw_events_miss(&session->events, kw_user_uid_of_task(current));
	mmdrop(mm);
}

/* The session's track of a process, unlinked, or NULL. */
static struct kw_track *take_pid(struct kw_session *session,
				 const struct pid *pid)
{
	struct kw_track *t, *ret = NULL;

	spin_lock(&kw_lock);
	list_for_each_entry(t, &session->tracks, of_session.list)
		if (!t->of_session.is_visitor && t->pid == pid) {
			unlink_track(t);
			ret = t;
			break;
		}
	spin_unlock(&kw_lock);
	return ret;
}

int kw_unfollow_pid(struct kw_session *session, const struct pid *pid)
{
	struct kw_track *t;
	int err = -ENOENT;

	while ((t = take_pid(session, pid))) {
		drop_track(t);
		err = 0;
	}
	return err;
}

/* One of those who follow a space whose process is gone, unlinked, or NULL. */
static struct kw_track *take_of_gone(struct kw_space *space)
{
	struct kw_track *t;

	spin_lock(&kw_lock);
	t = list_first_entry_or_null(&space->owner.tracks, struct kw_track,
				     of_space);
	if (t) {
		tell(t, OW_KUNWIND_EV_EXIT);
		unlink_track(t);
	}
	spin_unlock(&kw_lock);
	return t;
}

/* Nobody follows a space any more whose process is gone. */
static void reap(struct kw_space *space)
{
	struct kw_track *t;

	while ((t = take_of_gone(space)))
		drop_track(t);
}

/* --- the maps that a session's tables count in --- */

static struct list_head *members_of(struct kw_session *session)
{
	return session->privileged ? &all_spaces : &session->tracks;
}

static struct kw_space *space_of(const struct kw_session *session,
				 struct kw_member *m)
{
	if (session->privileged)
		return container_of(m, struct kw_space, all);
	return container_of(m, struct kw_track, of_session)->space;
}

/* The next space, with a reference, or NULL. */
static struct kw_space *next_space(struct kw_session *session,
				   struct kw_member *visitor)
{
	struct kw_space *space = NULL;
	struct kw_member *m;

	spin_lock(&kw_lock);
	m = kw_visit_next(visitor, members_of(session));
	if (m) {
		space = space_of(session, m);
		refcount_inc(&space->ref);
	}
	spin_unlock(&kw_lock);
	return space;
}

static void relink_all(struct kw_session *session,
		       const struct kw_object *object)
{
	struct kw_patience patience = { RELINK_PATIENCE };
	struct kw_member visitor;
	struct kw_space *space;

	spin_lock(&kw_lock);
	kw_visit_begin(&visitor, members_of(session));
	spin_unlock(&kw_lock);
	while ((space = next_space(session, &visitor))) {
		kw_space_relink(space, object, &patience);
		kw_space_put(space);
		cond_resched();
	}
}

int kw_follow_relink(struct kw_session *session, const struct kw_object *object)
{
	int err = mutex_lock_killable(&session->relinking);

	if (err)
		return err;
	relink_all(session, object);
	mutex_unlock(&session->relinking);
	return 0;
}

/*
 * Have the session follow one space less, which is returned with a reference; NULL:
 * there is none.  *followed: others follow it.
 */
static struct kw_space *leave_one(struct kw_session *session, bool *followed)
{
	struct kw_space *space;
	struct kw_track *t;

	spin_lock(&kw_lock);
	t = list_first_entry_or_null(&session->tracks, struct kw_track,
				     of_session.list);
	if (t) {
		unlink_track(t);
		space = t->space;
		refcount_inc(&space->ref);
		*followed = !list_empty(&space->owner.tracks);
	}
	spin_unlock(&kw_lock);
	if (!t)
		return NULL;
	drop_track(t);
	return space;
}

void kw_follow_close(struct kw_session *session, bool had_tables)
{
	bool own = had_tables && !session->privileged, followed;
	struct kw_patience patience = { RELINK_PATIENCE };
	struct kw_space *space;

	spin_lock(&kw_lock);
	WRITE_ONCE(session->closed, true);
	spin_unlock(&kw_lock);
	while ((space = leave_one(session, &followed))) {
		if (own && followed)
			kw_space_relink(space, NULL, &patience);
		kw_space_put(space);
		cond_resched();
	}
	if (had_tables && session->privileged)
		relink_all(session, NULL);
}

int kw_follow_init(void)
{
	kw_space_init(reap);
	return 0;
}

void kw_follow_exit(void)
{
	kw_space_exit();
}
