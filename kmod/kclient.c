// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#include "kclient.h"

#include <linux/pid.h>
#include <linux/sched/mm.h>
#include <linux/sched/task.h>

#include "kfollow.h"
#include "kheirs.h"
#include "kmm.h"
#include "kpatience.h"

#define EXEC_TRIES 8 /* of a task that executes one program after another */

/* Takes over the reference; the task itself if no thread lives. */
static struct task_struct *live_thread(struct task_struct *task)
{
	struct task_struct *live;

	rcu_read_lock();
	live = kw_live_thread(task);
	if (live && live != task)
		get_task_struct(live);
	rcu_read_unlock();
	if (!live || live == task)
		return task;
	put_task_struct(task);
	return live;
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

/*
 * Follow the mm, or what the task has executed instead meanwhile.  Takes over the
 * reference.
 */
static int follow_mm(struct kw_session *session, struct mm_struct *mm,
		     struct pid *pid, struct task_struct *task,
		     struct kw_patience *patience)
{
	int err = kw_follow_mm(session, mm, pid, task, patience), i;

	for (i = 0; i < EXEC_TRIES && err == -ESRCH; i++) {
		mmdrop(mm);
		mm = kw_follow_may(session, task, patience);
		if (IS_ERR(mm))
			return PTR_ERR(mm);
		err = kw_follow_mm(session, mm, pid, task, patience);
	}
	mmdrop(mm);
	return err == -ESRCH ? -EBUSY : err;
}

static int follow_task(struct kw_session *session, struct task_struct *task,
		       u32 flags)
{
	struct kw_patience patience = {
		flags & OW_KUNWIND_NOWAIT ? 0 : KW_PATIENCE,
	};
	struct mm_struct *mm = kw_follow_may(session, task, &patience);
	struct pid *pid;
	int err, known = 1;

	if (IS_ERR(mm))
		return PTR_ERR(mm);
	pid = get_task_pid(task, PIDTYPE_TGID);
	if (flags & OW_KUNWIND_INHERIT)
		known = kw_heirs_add(session, pid, task);
	if (known >= 0) {
		err = follow_mm(session, mm, pid, task, &patience);
	} else {
		err = known;
		mmdrop(mm);
	}
	if (err && known == 0)
		kw_heirs_remove(session, pid);
	put_pid(pid);
	return err;
}

static int follow_all(struct kw_session *session,
		      const struct ow_kunwind_follow *arg)
{
	int err;

	if (arg->pid || arg->flags != OW_KUNWIND_ALL)
		return -EINVAL;
	if (!session->privileged)
		return -EPERM;
	err = kw_events_begin(&session->events);
	if (!err)
		err = kw_heirs_add(session, NULL, NULL);
	return min(err, 0);
}

int kw_client_follow(struct kw_session *session,
		     const struct ow_kunwind_follow *arg)
{
	struct task_struct *task;
	int err;

	if (arg->flags &
	    ~(OW_KUNWIND_INHERIT | OW_KUNWIND_ALL | OW_KUNWIND_NOWAIT))
		return -EINVAL;
	kw_heirs_begin();
	if (arg->flags & OW_KUNWIND_ALL)
		return follow_all(session, arg);
	task = task_of(arg->pid);
	if (!task)
		return -ESRCH;
	/* The process may live on without its first thread. */
	task = live_thread(task);
	err = follow_task(session, task, arg->flags);
	put_task_struct(task);
	return err;
}

int kw_client_unfollow(struct kw_session *session,
		       const struct ow_kunwind_follow *arg)
{
	struct task_struct *task;
	struct pid *pid;
	int err;

	if (arg->flags)
		return -EINVAL;
	task = task_of(arg->pid);
	if (!task)
		return -ESRCH;
	pid = get_task_pid(task, PIDTYPE_TGID);
	put_task_struct(task);
	kw_heirs_remove(session, pid);
	err = kw_unfollow_pid(session, pid);
	put_pid(pid);
	return err;
}

int kw_client_table(struct kw_session *session,
		    const struct ow_kunwind_table *arg)
{
	struct kw_object object;
	int err = kw_use_add(session, arg, &object);

	return err ? err : kw_follow_relink(session, &object);
}

void kw_client_close(struct kw_session *session)
{
	kw_follow_close(session, kw_use_drop_all(session));
	kw_heirs_drop_all(session);
	kw_session_put(session);
}
