// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#include "kheirs.h"

#include <linux/hashtable.h>
#include <linux/kprobes.h>
#include <linux/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "kfollow.h"
#include "klater.h"
#include "kpoint.h"
#include "kspace.h"

#define MAX_SESSIONS 16 /* that one process is followed by */

/* A session follows a process, whatever it executes. */
struct heir {
	struct hlist_node node;
	struct kw_session *session; /* a reference */
	struct pid *pid;            /* of the process; NULL: all */
};

static DEFINE_HASHTABLE(heirs, 8);
static DEFINE_SPINLOCK(heirs_lock);
static atomic_t nr_heirs = ATOMIC_INIT(0);
static u32 features;

/* --- who follows whom; under heirs_lock --- */

static struct heir *find(const struct kw_session *session,
			 const struct pid *pid)
{
	struct heir *h;

	hash_for_each_possible(heirs, h, node,
			       (unsigned long)pid) if (h->session == session &&
						       h->pid == pid) return h;
	return NULL;
}

static unsigned int count(const struct kw_session *session)
{
	struct heir *h;
	unsigned int bkt, nr = 0;

	hash_for_each(heirs, bkt, h, node) nr += h->session == session;
	return nr;
}

static void add(struct heir *h, struct kw_session *session, struct pid *pid)
{
	kw_session_get(session);
	h->session = session;
	h->pid = get_pid(pid);
	hash_add(heirs, &h->node, (unsigned long)pid);
	atomic_inc(&nr_heirs);
}

static void move_out(struct heir *h, struct hlist_head *to)
{
	hash_del(&h->node);
	hlist_add_head(&h->node, to);
	atomic_dec(&nr_heirs);
}

static void free_all(struct hlist_head *list)
{
	struct hlist_node *next;
	struct heir *h;

	hlist_for_each_entry_safe(h, next, list, node)
	{
		put_pid(h->pid);
		kw_session_put(h->session);
		kfree(h);
	}
}

int kw_heirs_add(struct kw_session *session, struct pid *pid)
{
	struct heir *h;
	int err = 0;

	if (!(features & OW_KUNWIND_TRACKS_EXEC))
		return -EOPNOTSUPP;
	h = kzalloc(sizeof(*h), GFP_KERNEL_ACCOUNT);
	if (!h)
		return -ENOMEM;
	spin_lock(&heirs_lock);
	if (find(session, pid))
		err = -EEXIST;
	else if (count(session) >= kw_follow_max(session))
		err = -ENOSPC;
	else
		add(h, session, pid);
	spin_unlock(&heirs_lock);
	if (err)
		kfree(h);
	return err == -EEXIST ? 0 : err;
}

void kw_heirs_remove(struct kw_session *session, struct pid *pid)
{
	HLIST_HEAD(gone);
	struct heir *h;

	spin_lock(&heirs_lock);
	h = find(session, pid);
	if (h)
		move_out(h, &gone);
	spin_unlock(&heirs_lock);
	free_all(&gone);
}

void kw_heirs_drop_all(struct kw_session *session)
{
	HLIST_HEAD(gone);
	struct hlist_node *next;
	unsigned int bkt;
	struct heir *h;

	spin_lock(&heirs_lock);
	hash_for_each_safe(heirs, bkt, next, h, node) if (h->session == session)
		move_out(h, &gone);
	spin_unlock(&heirs_lock);
	free_all(&gone);
}

/* --- what the kernel tells --- */

#ifdef CONFIG_KPROBES

/* New code is being mapped, or memory becomes code. */
static int on_mmap(struct kprobe *probe, struct pt_regs *regs)
{
	const struct vm_area_struct *vma =
		(void *)regs_get_kernel_argument(regs, 0);
	bool followed;

	if (!(vma->vm_flags & VM_EXEC) || vma->vm_mm != current->mm)
		return 0;
	rcu_read_lock();
	followed = kw_space_find(current->mm) != NULL;
	rcu_read_unlock();
	if (followed)
		kw_space_refresh_later(current->mm);
	return 0;
}

static struct kprobe mmap_probe = {
	.symbol_name = "perf_event_mmap",
	.pre_handler = on_mmap,
};

static bool probe_mmap(void)
{
	return register_kprobe(&mmap_probe) == 0;
}

static void unprobe_mmap(void)
{
	unregister_kprobe(&mmap_probe);
}

#else

static bool probe_mmap(void)
{
	return false;
}

static void unprobe_mmap(void)
{
}

#endif

#ifdef CONFIG_TRACEPOINTS

/* The sessions that follow pid, with references. */
static unsigned int sessions_of(const struct pid *pid, struct kw_session **ret)
{
	const struct pid *keys[2] = { pid, NULL };
	unsigned int nr = 0, i;
	struct heir *h;

	spin_lock(&heirs_lock);
	for (i = 0; i < 2; i++)
		hash_for_each_possible(
			heirs, h, node,
			(unsigned long)keys[i]) if (h->pid == keys[i] &&
						    nr < MAX_SESSIONS)
		{
			kw_session_get(h->session);
			ret[nr++] = h->session;
		}
	spin_unlock(&heirs_lock);
	return nr;
}

/* In current's own context: it is a new process, or executes something new. */
static void follow_now(void *arg)
{
	struct kw_session *sessions[MAX_SESSIONS];
	unsigned int nr, i;

	if (!current->mm)
		return;
	nr = sessions_of(task_tgid(current), sessions);
	for (i = 0; i < nr; i++) {
		kw_follow_current(sessions[i]);
		kw_session_put(sessions[i]);
	}
}

/* The parent's sessions follow the child; false: there are none. */
static bool inherit(struct pid *parent, struct pid *child)
{
	bool any = false;
	struct heir *h, *fresh;

	spin_lock(&heirs_lock);
	hash_for_each_possible(heirs, h, node, (unsigned long)parent)
	{
		if (h->pid != parent || find(h->session, child))
			continue;
		any = true;
		if (count(h->session) >= kw_follow_max(h->session))
			continue;
		fresh = kzalloc(sizeof(*fresh), GFP_ATOMIC | __GFP_NOWARN);
		if (fresh)
			add(fresh, h->session, child);
	}
	hash_for_each_possible(heirs, h, node, 0) any |= !h->pid;
	spin_unlock(&heirs_lock);
	return any;
}

static void on_fork(void *data, struct task_struct *parent,
		    struct task_struct *child)
{
	if (atomic_read(&nr_heirs) == 0 || parent->tgid == child->tgid ||
	    child->flags & PF_KTHREAD)
		return;
	if (inherit(task_tgid(parent), task_tgid(child)))
		kw_later(child, follow_now, NULL);
}

static void on_exec(void *data, struct task_struct *p, pid_t old_pid,
		    struct linux_binprm *bprm)
{
	if (atomic_read(&nr_heirs))
		kw_later(p, follow_now, NULL);
}

/* The last thread of a process: nobody needs to remember it. */
static void forget(struct task_struct *p)
{
	struct pid *pid = task_tgid(p);
	HLIST_HEAD(gone);
	struct hlist_node *next;
	struct heir *h;

	if (atomic_read(&nr_heirs) == 0 || atomic_read(&p->signal->live))
		return;
	spin_lock(&heirs_lock);
	hash_for_each_possible_safe(heirs, h, next, node,
				    (unsigned long)pid) if (h->pid == pid)
		move_out(h, &gone);
	spin_unlock(&heirs_lock);
	free_all(&gone);
}

static void on_exit(void *data, struct task_struct *p)
{
	forget(p);
}

static struct kw_point points[] = {
	{ "sched_process_fork", on_fork },
	{ "sched_process_exec", on_exec },
	{ "sched_process_exit", on_exit },
};

static bool join_points(void)
{
	return kw_points_join(points, ARRAY_SIZE(points)) == 0;
}

static void leave_points(void)
{
	kw_points_leave(points, ARRAY_SIZE(points));
}

#else

static void leave_points(void)
{
}

static bool join_points(void)
{
	return false;
}

#endif

int kw_heirs_init(void)
{
	if (join_points())
		features |= OW_KUNWIND_TRACKS_EXEC;
	if (probe_mmap())
		features |= OW_KUNWIND_TRACKS_MMAP;
	return 0;
}

void kw_heirs_exit(void)
{
	if (features & OW_KUNWIND_TRACKS_MMAP)
		unprobe_mmap();
	if (features & OW_KUNWIND_TRACKS_EXEC)
		leave_points();
}

void kw_heirs_catch_up(void)
{
	if (!(features & OW_KUNWIND_TRACKS_MMAP))
		kw_space_refresh_current();
}

u32 kw_heirs_features(void)
{
	return features;
}
