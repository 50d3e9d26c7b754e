// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * ptrace_may_access() is not exported, and a kernel that checks indirect branches
 * (CONFIG_X86_KERNEL_IBT) does not let its address be called.  It is asked by way of
 * procfs: /proc/PID/ns/mnt is followed only where it allows reading
 * (proc_ns_get_link(), fs/proc/namespaces.c), and nothing there waits for a process.
 */
#include "kptrace.h"

#include <linux/file.h>
#include <linux/fs.h>
#include <linux/mount.h>
#include <linux/proc_fs.h>
#include <linux/sched/signal.h>
#include <linux/workqueue.h>

#include "kqueue.h"

static struct vfsmount *proc; /* the module's own, that nobody mounts over */

struct question {
	struct work_struct work;
	const struct cred *cred;
	char path[32];
	int err;
};

static void ask(struct question *q)
{
	const struct cred *old = override_creds(q->cred);
	const struct path root = { .mnt = proc, .dentry = proc->mnt_root };
	struct file *file = file_open_root(&root, q->path, O_PATH, 0);

	revert_creds(old);
	q->err = PTR_ERR_OR_ZERO(file);
	if (!q->err)
		fput(file);
}

static void ask_later(struct work_struct *work)
{
	ask(container_of(work, struct question, work));
}

/* A number belongs to a task until the task is gone. */
static bool is_there(struct task_struct *task)
{
	bool ret;

	rcu_read_lock();
	ret = pid_alive(task);
	rcu_read_unlock();
	return ret;
}

/*
 * Asked by the caller, as some of Linux's security modules look at the task that asks;
 * about the caller itself, by a kernel's thread, as any task may read itself.
 */
int kw_ptrace_may(const struct cred *cred, struct task_struct *task)
{
	struct question q = { .cred = cred };

	snprintf(q.path, sizeof(q.path), "%d/ns/mnt",
		 task_pid_nr_ns(task, proc_pid_ns(proc->mnt_sb)));
	if (same_thread_group(task, current)) {
		INIT_WORK_ONSTACK(&q.work, ask_later);
		kw_queue(&q.work);
		flush_work(&q.work);
		destroy_work_on_stack(&q.work);
	} else {
		ask(&q);
	}
	if (!is_there(task))
		return -ESRCH;
	return q.err && q.err != -ENOMEM ? -EPERM : q.err;
}

int kw_ptrace_init(void)
{
	struct file_system_type *type = get_fs_type("proc");

	if (!type)
		return -ENODEV;
	proc = kern_mount(type);
	return PTR_ERR_OR_ZERO(proc);
}

void kw_ptrace_exit(void)
{
	kern_unmount(proc);
}
