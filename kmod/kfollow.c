// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#include "kfollow.h"

#include <linux/cred.h>
#include <linux/module.h>
#include <linux/sched/coredump.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "kcontext.h"
#include "kpatience.h"
#include "kptrace.h"
#include "kuser.h"

#define MAY_TRIES 8 /* of a task that executes one program after another */
#define TRACK_PRICE                                          \
	(sizeof(struct kw_track) + sizeof(struct kw_space) + \
	 sizeof(struct kw_share))

static unsigned int max_followed = 16384;
module_param(max_followed, uint, 0644);
MODULE_PARM_DESC(max_followed,
		 "processes that a privileged session may follow");

static unsigned int max_followed_user = 256;
module_param(max_followed_user, uint, 0644);
MODULE_PARM_DESC(max_followed_user,
		 "processes that another session may follow");

static LIST_HEAD(all_spaces); /* under kw_mutex */

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
 * have one.  The caller holds kw_mutex.
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

/*
 * Return true if the session may follow one process more, whose share of its events has
 * that track already: of other users' a user may have at most half of what the rest of
 * them leave over.
 */
static bool may_track(const struct kw_session *session,
		      const struct kw_share *share)
{
	unsigned int max = kw_follow_max(session), own = share->nr_tracks;

	if (session->nr_tracks >= max)
		return false;
	return !kw_share_is_limited(&session->events, share) ||
	       2 * own <= max - (session->nr_tracks - (own - 1));
}

/* A track with that share, which is paid; an error pointer. */
static struct kw_track *track_alloc(struct kw_session *session,
				    struct kw_share *share)
{
	struct kw_track *t;
	int err = may_track(session, share) ? 0 : -ENOSPC;

	if (!err)
		err = kw_user_charge(session->user, TRACK_PRICE);
	if (err)
		return ERR_PTR(err);
	t = kzalloc(sizeof(*t), GFP_KERNEL_ACCOUNT);
	if (!t) {
		kw_user_uncharge(session->user, TRACK_PRICE);
		return ERR_PTR(-ENOMEM);
	}
	t->session = session;
	t->share = share;
	return t;
}

/* One of a space's, which the session is told of; the caller holds its mutex. */
static struct kw_track *track_begin(struct kw_session *session,
				    struct kw_space *space, struct pid *pid)
{
	struct kw_share *share =
		kw_events_join(&session->events, space->owner.user);
	struct kw_track *t;

	if (!share)
		return ERR_PTR(-ENOMEM);
	t = track_alloc(session, share);
	if (IS_ERR(t)) {
		kw_events_leave(&session->events, share);
		return t;
	}
	t->space = space;
	t->pid = get_pid(pid);
	list_add(&t->of_space, &space->owner.tracks);
	tell(t, OW_KUNWIND_EV_FOLLOWED);
	return t;
}

/* A new track of a space that was used for it; the caller holds kw_mutex. */
static int link_track(struct kw_session *session, struct kw_space *space,
		      struct pid *pid)
{
	struct kw_track *t;

	if (session->closed)
		return -EBADF;
	mutex_lock(&space->mutex);
	t = track_begin(session, space, pid);
	mutex_unlock(&space->mutex);
	if (IS_ERR(t))
		return PTR_ERR(t);
	session->nr_tracks++;
	list_add(&t->of_session, &session->tracks);
	if (list_empty(&space->all))
		list_add(&space->all, &all_spaces);
	kw_user_note(session->user, KW_FOLLOWED, 1);
	return 0;
}

/* The caller holds kw_mutex. */
static void unlink_track(struct kw_track *t)
{
	struct kw_space *space = t->space;

	mutex_lock(&space->mutex);
	list_del(&t->of_space);
	mutex_unlock(&space->mutex);
	if (list_empty(&space->owner.tracks))
		list_del_init(&space->all);
	list_del(&t->of_session);
	t->session->nr_tracks--;
	kw_user_uncharge(t->session->user, TRACK_PRICE);
	kw_user_note(t->session->user, KW_FOLLOWED, -1);
	kw_events_leave(&t->session->events, t->share);
	put_pid(t->pid);
	kfree(t);
	kw_space_unuse(space);
}

/* Have a track; *ret is its space with a reference, whose map is still to be made. */
static int track(struct kw_session *session, struct mm_struct *mm,
		 struct pid *pid, struct task_struct *task,
		 struct kw_patience *patience, struct kw_space **ret)
{
	int err = kw_contexts_use();
	struct kw_space *space;
	unsigned int nr;

	if (!err)
		err = kw_events_begin(&session->events);
	if (err)
		return err;
	space = kw_space_use(mm, task, patience);
	if (IS_ERR(space))
		return PTR_ERR(space);
	refcount_inc(&space->ref);
	mutex_lock(&kw_mutex);
	if (find(session, space, &nr))
		kw_space_unuse(space);
	else if (nr >= OW_KUNWIND_MAX_SESSIONS)
		err = -EUSERS;
	else
		err = link_track(session, space, pid);
	mutex_unlock(&kw_mutex);
	if (!err) {
		*ret = space;
		return 0;
	}
	kw_space_unuse(space);
	kw_space_put(space);
	return err;
}

int kw_follow_mm(struct kw_session *session, struct mm_struct *mm,
		 struct pid *pid, struct task_struct *task,
		 struct kw_patience *patience)
{
	struct kw_space *space;
	int err = track(session, mm, pid, task, patience, &space);

	if (err)
		return err;
	err = kw_space_refresh(space, true, patience);
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
		mm = get_task_mm(task);
		if (!mm)
			return ERR_PTR(-ESRCH);
		err = may_follow(session, task, mm, patience);
		if (!err)
			return mm;
		mmput(mm);
	}
	return ERR_PTR(err == -EAGAIN ? -EBUSY : err);
}

void kw_follow_current(struct kw_session *session)
{
	struct kw_patience patience = { KW_PATIENCE };
	struct mm_struct *mm = kw_follow_may(session, current, &patience);
	struct kw_space *space;

	if (IS_ERR(mm))
		return;
	if (track(session, mm, task_tgid(current), current, &patience,
		  &space)) {
		kw_events_miss(&session->events, kw_user_uid_of_task(current));
	} else {
		/* That there is no map may be the process' own doing. */
		kw_space_refresh(space, true, &patience);
		kw_space_put(space);
	}
	mmput(mm);
}

int kw_unfollow_pid(struct kw_session *session, const struct pid *pid)
{
	struct kw_track *t, *next;
	int err = -ENOENT;

	mutex_lock(&kw_mutex);
	list_for_each_entry_safe(t, next, &session->tracks, of_session)
		if (t->pid == pid) {
			unlink_track(t);
			err = 0;
		}
	mutex_unlock(&kw_mutex);
	return err;
}

void kw_follow_drop_all(struct kw_session *session)
{
	struct kw_track *t, *next;

	list_for_each_entry_safe(t, next, &session->tracks, of_session)
		unlink_track(t);
}

/* Nobody follows a space any more whose process is gone. */
static void reap(struct kw_space *space)
{
	struct kw_track *t, *next;

	mutex_lock(&kw_mutex);
	list_for_each_entry_safe(t, next, &space->owner.tracks, of_space) {
		tell(t, OW_KUNWIND_EV_EXIT);
		unlink_track(t);
	}
	mutex_unlock(&kw_mutex);
}

void kw_follow_relink(struct kw_session *session,
		      const struct kw_object *object)
{
	struct kw_space *space;
	struct kw_track *t;

	if (session->privileged) {
		list_for_each_entry(space, &all_spaces, all)
			kw_space_relink(space, object);
		return;
	}
	list_for_each_entry(t, &session->tracks, of_session)
		kw_space_relink(t->space, object);
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
