// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#include "kfollow.h"

#include <linux/cred.h>
#include <linux/module.h>
#include <linux/sched/coredump.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "kheirs.h"
#include "kstats.h"
#include "kuser.h"

#define TRACK_PRICE (sizeof(struct kw_track) + sizeof(struct kw_space))

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

bool kw_follow_counts(const struct kw_session *session,
		      const struct kw_space *space)
{
	const struct kw_track *t;

	if (session->privileged)
		return true;
	list_for_each_entry(t, &space->tracks, of_space)
		if (t->session == session)
			return true;
	return false;
}

/*
 * Is the task the opener's own, as far as its memory is concerned?  A program
 * that has had other privileges is not dumpable.
 */
static bool may_follow(const struct kw_session *session,
		       struct task_struct *task, struct mm_struct *mm)
{
	const struct cred *cred;
	bool own;

	if (session->privileged)
		return true;
	rcu_read_lock();
	cred = __task_cred(task);
	own = uid_eq(cred->uid, session->uid) &&
	      uid_eq(cred->euid, session->uid) &&
	      uid_eq(cred->suid, session->uid);
	rcu_read_unlock();
	return own && get_dumpable(mm) == SUID_DUMP_USER;
}

static void tell(const struct kw_track *t, u32 kind)
{
	struct ow_kunwind_event what = { .kind = kind };

	kw_events_put(&t->session->events, &what, t->pid);
}

static struct kw_track *find(const struct kw_session *session,
			     const struct kw_space *space)
{
	struct kw_track *t;

	list_for_each_entry(t, &session->tracks, of_session)
		if (t->space == space)
			return t;
	return NULL;
}

/* A new track of a space that was used for it; the caller holds kw_mutex. */
static int link_track(struct kw_session *session, struct kw_space *space,
		      struct pid *pid)
{
	struct kw_track *t;
	int err;

	if (session->closed)
		return -EBADF;
	if (session->nr_tracks >= kw_follow_max(session))
		return -ENOSPC;
	err = kw_user_charge(session->user, TRACK_PRICE);
	if (err)
		return err;
	t = kzalloc(sizeof(*t), GFP_KERNEL_ACCOUNT);
	if (!t) {
		kw_user_uncharge(session->user, TRACK_PRICE);
		return -ENOMEM;
	}
	t->session = session;
	t->space = space;
	t->pid = get_pid(pid);
	session->nr_tracks++;
	list_add(&t->of_session, &session->tracks);
	if (list_empty(&space->all))
		list_add(&space->all, &all_spaces);
	mutex_lock(&space->mutex);
	list_add(&t->of_space, &space->tracks);
	mutex_unlock(&space->mutex);
	atomic64_inc(&kw_gauges.followed);
	tell(t, OW_KUNWIND_EV_FOLLOWED);
	return 0;
}

/* The caller holds kw_mutex. */
static void unlink_track(struct kw_track *t)
{
	struct kw_space *space = t->space;

	mutex_lock(&space->mutex);
	list_del(&t->of_space);
	mutex_unlock(&space->mutex);
	if (list_empty(&space->tracks))
		list_del_init(&space->all);
	list_del(&t->of_session);
	t->session->nr_tracks--;
	kw_user_uncharge(t->session->user, TRACK_PRICE);
	atomic64_dec(&kw_gauges.followed);
	put_pid(t->pid);
	kfree(t);
	kw_space_unuse(space);
}

/* The caller has the mm's users. */
static int follow_mm(struct kw_session *session, struct mm_struct *mm,
		     struct pid *pid, kuid_t uid)
{
	struct kw_space *space;
	int err = kw_events_begin(&session->events);

	if (err)
		return err;
	space = kw_space_use(mm, uid);
	if (IS_ERR(space))
		return PTR_ERR(space);
	refcount_inc(&space->ref);
	mutex_lock(&kw_mutex);
	if (find(session, space))
		kw_space_unuse(space);
	else
		err = link_track(session, space, pid);
	mutex_unlock(&kw_mutex);
	if (err)
		kw_space_unuse(space);
	else
		err = kw_space_refresh(space, true);
	kw_space_put(space);
	return err;
}

/* A task's mm, its creds being those that the mm is executed with. */
static struct mm_struct *mm_of(const struct kw_session *session,
			       struct task_struct *task)
{
	struct mm_struct *mm;

	if (down_read_killable(&task->signal->exec_update_lock))
		return ERR_PTR(-EINTR);
	mm = get_task_mm(task);
	if (!mm) {
		mm = ERR_PTR(-ESRCH);
	} else if (!may_follow(session, task, mm)) {
		mmput(mm);
		mm = ERR_PTR(-EPERM);
	}
	up_read(&task->signal->exec_update_lock);
	return mm;
}

static struct task_struct *task_of(s32 nr)
{
	struct task_struct *task;
	struct pid *pid;

	if (nr == 0)
		return get_task_struct(current);
	pid = find_get_pid(nr);
	task = get_pid_task(pid, PIDTYPE_PID);
	put_pid(pid);
	return task;
}

static int follow_task(struct kw_session *session, struct task_struct *task,
		       u32 flags)
{
	struct mm_struct *mm = mm_of(session, task);
	struct pid *pid;
	int err = 0;

	if (IS_ERR(mm))
		return PTR_ERR(mm);
	pid = get_task_pid(task, PIDTYPE_TGID);
	if (flags & OW_KUNWIND_INHERIT)
		err = kw_heirs_add(session, pid);
	if (!err)
		err = follow_mm(session, mm, pid, task_uid(task));
	put_pid(pid);
	mmput(mm);
	return err;
}

int kw_follow(struct kw_session *session, const struct ow_kunwind_follow *arg)
{
	struct task_struct *task;
	int err;

	if (arg->flags & ~(OW_KUNWIND_INHERIT | OW_KUNWIND_ALL))
		return -EINVAL;
	if (arg->flags & OW_KUNWIND_ALL) {
		if (arg->pid || arg->flags != OW_KUNWIND_ALL)
			return -EINVAL;
		if (!session->privileged)
			return -EPERM;
		err = kw_events_begin(&session->events);
		return err ? err : kw_heirs_add(session, NULL);
	}
	task = task_of(arg->pid);
	if (!task)
		return -ESRCH;
	err = follow_task(session, task, arg->flags);
	put_task_struct(task);
	return err;
}

void kw_follow_current(struct kw_session *session)
{
	struct mm_struct *mm = mm_of(session, current);

	if (IS_ERR(mm))
		return;
	follow_mm(session, mm, task_tgid(current), current_uid());
	mmput(mm);
}

int kw_unfollow(struct kw_session *session, const struct ow_kunwind_follow *arg)
{
	struct task_struct *task;
	struct kw_track *t, *next;
	struct pid *pid;
	int err = -ENOENT;

	if (arg->flags)
		return -EINVAL;
	task = task_of(arg->pid);
	if (!task)
		return -ESRCH;
	pid = get_task_pid(task, PIDTYPE_TGID);
	put_task_struct(task);
	kw_heirs_remove(session, pid);
	mutex_lock(&kw_mutex);
	list_for_each_entry_safe(t, next, &session->tracks, of_session)
		if (t->pid == pid) {
			unlink_track(t);
			err = 0;
		}
	mutex_unlock(&kw_mutex);
	put_pid(pid);
	return err;
}

void kw_follow_drop_all(struct kw_session *session)
{
	struct kw_track *t, *next;

	list_for_each_entry_safe(t, next, &session->tracks, of_session)
		unlink_track(t);
}

void kw_follow_reap(struct kw_space *space)
{
	struct kw_track *t, *next;

	mutex_lock(&kw_mutex);
	list_for_each_entry_safe(t, next, &space->tracks, of_space) {
		tell(t, OW_KUNWIND_EV_EXIT);
		unlink_track(t);
	}
	mutex_unlock(&kw_mutex);
}

/* Did the older map lack the same object's table, too? */
static bool was_told(const struct kw_map *older, size_t *at,
		     const struct ow_range *range, const struct kw_place *place)
{
	if (!older)
		return false;
	while (*at < older->map.nr && older->ranges[*at].start < range->start)
		(*at)++;
	return *at < older->map.nr &&
	       older->ranges[*at].start == range->start &&
	       older->places[*at].is_object && !older->places[*at].table &&
	       kw_object_equal(&older->places[*at].object, &place->object);
}

void kw_follow_lacks(struct kw_space *space, const struct kw_map *map,
		     const struct kw_map *older)
{
	struct ow_kunwind_event what = { .kind = OW_KUNWIND_EV_LACKS };
	const struct kw_place *place;
	struct kw_track *t;
	size_t i, at = 0;

	for (i = 0; i < map->map.nr; i++) {
		place = &map->places[i];
		if (!place->is_object || place->table ||
		    was_told(older, &at, &map->ranges[i], place))
			continue;
		what.dev = place->object.dev ?
				   new_encode_dev(place->object.dev) :
				   0;
		what.ino = place->object.ino;
		what.start = map->ranges[i].start;
		what.end = map->ranges[i].end;
		what.off = place->off;
		list_for_each_entry(t, &space->tracks, of_space)
			if (!READ_ONCE(t->session->closed))
				kw_events_put(&t->session->events, &what,
					      t->pid);
	}
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
