// SPDX-License-Identifier: GPL-2.0-only
/*
 * kunwind_map, for each mapping of a file that may be executed: as it is made; all
 * of a process as it executes something; and of all processes when a session of
 * LTTng begins, as its own state dump does, or when parameter statedump is written.
 */
#include "lkmaps.h"

#include <linux/delay.h>
#include <linux/kprobes.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <linux/user_namespace.h>
#include <linux/workqueue.h>

#include "kmm.h"
#include "kpatience.h"
#include "kpoint.h"
#include "lkbuildid.h"
#include "lktrace.h"

/* What is told at once before a tracer has time to take it away. */
#define BURST        (64 * 1024)
/* What a dump tells of one user's processes, but for root's. */
#define MOST_OF_USER (4 * 1024 * 1024)
/* How often a dump looks for processes. */
#define PASSES       3
/* ns from a process' start_time until it is listed. */
#define BIRTH        (20 * NSEC_PER_MSEC)

static DEFINE_PER_CPU(char *, paths); /* PATH_MAX each */

/* The caller can't be moved to another CPU. */
static size_t tell(struct vm_area_struct *vma, const struct lk_process *of)
{
	char *buf = this_cpu_read(paths), *path;
	u8 build_id[LK_BUILD_ID];
	struct lk_mapping m = {
		.of = *of,
		.start = vma->vm_start,
		.end = vma->vm_end,
		.off = (u64)vma->vm_pgoff << PAGE_SHIFT,
		.build_id = build_id,
	};

	if (!(vma->vm_flags & VM_EXEC))
		return 0;
	if (vma->vm_file) {
		path = d_path(&vma->vm_file->f_path, buf, PATH_MAX);
		if (IS_ERR(path))
			return 0;
		m.path = path;
		m.ino = file_inode(vma->vm_file)->i_ino;
		m.build_id_size = min_t(unsigned int, LK_BUILD_ID,
					lk_build_id(vma->vm_file, build_id));
	} else if (vma->vm_start == (unsigned long)vma->vm_mm->context.vdso) {
		m.path = "[vdso]";
	} else {
		return 0;
	}
	trace_kunwind_map(&m);
	return 100 + strlen(m.path);
}

/*
 * What mm, which is locked for reading, has from *at on, about so many bytes of it, which
 * are returned.  *at is where the rest begins, or 0.
 */
static size_t tell_some(struct mm_struct *mm, const struct lk_process *of,
			unsigned long *at, size_t most)
{
	struct vm_area_struct *vma;
	size_t bytes = 0;
	VMA_ITERATOR(vmi, mm, *at);

	*at = 0;
	for_each_vma(vmi, vma)
	{
		if (bytes > most) {
			*at = vma->vm_start;
			break;
		}
		preempt_disable();
		bytes += tell(vma, of);
		preempt_enable();
	}
	return bytes;
}

static void tell_all(struct mm_struct *mm, const struct lk_process *of)
{
	unsigned long at = 0;

	tell_some(mm, of, &at, SIZE_MAX);
}

/* --- as it happens --- */

static int on_mmap(struct kprobe *probe, struct pt_regs *regs)
{
	struct vm_area_struct *vma = (void *)regs_get_kernel_argument(regs, 0);
	struct lk_process own;

	if (trace_kunwind_map_enabled() && vma->vm_mm == current->mm &&
	    !current->in_execve) {
		own = lk_process_of(current);
		tell(vma, &own);
	}
	return 0;
}

static struct kprobe mmap_probe = {
	.symbol_name = "perf_event_mmap",
	.pre_handler = on_mmap,
};

static void on_exec(void *data, struct task_struct *p, pid_t old_pid,
		    struct linux_binprm *bprm)
{
	const struct lk_process of = lk_process_of(p);

	trace_kunwind_exec(&of);
	if (!trace_kunwind_map_enabled() || !mmap_read_trylock(p->mm))
		return;
	tell_all(p->mm, &of);
	mmap_read_unlock(p->mm);
}

static void on_fork(void *data, struct task_struct *parent,
		    struct task_struct *child)
{
	const struct lk_process from = lk_process_of(parent);
	const struct lk_process to = lk_process_of(child);

	if (child->mm && from.pid != to.pid && !(child->flags & PF_KTHREAD))
		trace_kunwind_fork(&from, &to);
}

/* --- all that there are --- */

static DEFINE_MUTEX(dump_mutex);

/* A process that a dump is to tell of. */
struct process {
	struct pid *pid; /* a reference */
	kuid_t uid;
	bool is_root;
};

/* Processes, by users; root's are the first. */
struct processes {
	struct process *p;
	size_t nr;
};

/* Those that were left out for one reason, and the first one of them. */
struct left_out {
	unsigned int nr;
	pid_t first;
};

/* What one dump has come to. */
struct dumping {
	kuid_t uid;                  /* whose processes it is at, */
	bool is_root;                /* or root's, */
	struct kw_patience patience; /* with all of these together, */
	size_t bytes;                /* and what it has told of them */
	size_t burst;                /* of it, since it last waited */
	struct left_out locked, many, late;
};

static void leave_out(struct left_out *l, pid_t pid)
{
	if (l->nr++ == 0)
		l->first = pid;
}

static void say_left_out(const struct left_out *l, const char *why)
{
	if (l->nr)
		pr_notice_ratelimited(
			"lttng-kunwind: the trace lacks mappings of %u processes, %s: process %d is the first one\n",
			l->nr, why, l->first);
}

/*
 * The user of a user namespace's processes is who made it.  Those of a namespace that
 * root made, as for a container, have their own user, who isn't root in any case.
 */
static struct process process_of(struct task_struct *p)
{
	struct process ret = { .pid = get_pid(task_tgid(p)) };
	const struct user_namespace *ns;

	rcu_read_lock();
	ns = __task_cred(p)->user_ns;
	ret.uid = __task_cred(p)->uid;
	ret.is_root = ns == &init_user_ns && uid_eq(ret.uid, GLOBAL_ROOT_UID);
	for (; ns != &init_user_ns; ns = ns->parent)
		if (!uid_eq(ns->owner, GLOBAL_ROOT_UID))
			ret.uid = ns->owner;
	rcu_read_unlock();
	return ret;
}

static struct mm_struct *mm_of(struct task_struct *task)
{
	struct task_struct *live;
	struct mm_struct *mm;

	rcu_read_lock();
	live = kw_live_thread(task);
	mm = live ? kw_mm_of(live) : NULL;
	rcu_read_unlock();
	return mm;
}

/* Fill *of if the task has the mm still. */
static bool has_still(struct task_struct *task, const struct mm_struct *mm,
		      struct lk_process *of)
{
	const struct task_struct *live;
	bool ret;

	rcu_read_lock();
	live = kw_live_thread(task);
	ret = live && READ_ONCE(live->mm) == mm;
	if (ret)
		*of = lk_process_of(live);
	rcu_read_unlock();
	return ret;
}

/*
 * Lock the mm for reading while the task has it: another process may share it, and have
 * it still when the task executes something, which tells of itself.  -EAGAIN: a lock is
 * taken; -ESRCH.
 */
static int try_lock(struct task_struct *task, struct mm_struct *mm,
		    struct lk_process *of)
{
	int err = 0;

	if (!down_read_trylock(&task->signal->exec_update_lock))
		return -EAGAIN;
	if (!has_still(task, mm, of))
		err = -ESRCH;
	else if (kw_mm_try_lock(mm, &err))
		return 0;
	up_read(&task->signal->exec_update_lock);
	return err ? err : -EAGAIN;
}

static int lock_mappings(struct dumping *d, struct task_struct *task,
			 struct mm_struct *mm, struct lk_process *of)
{
	int err;

	do {
		err = try_lock(task, mm, of);
		if (err != -EAGAIN)
			return err;
		err = kw_wait_a_moment(&d->patience);
	} while (!err);
	return err;
}

static void unlock_mappings(struct task_struct *task, struct mm_struct *mm)
{
	mmap_read_unlock(mm);
	up_read(&task->signal->exec_update_lock);
}

/* Tell of a burst at most; 0, -EBUSY, -ESRCH, -EINTR. */
static int dump_some(struct dumping *d, struct task_struct *task,
		     struct mm_struct *mm, unsigned long *at)
{
	struct lk_process of;
	int err = lock_mappings(d, task, mm, &of);
	size_t bytes;

	if (err)
		return err;
	bytes = tell_some(mm, &of, at, BURST);
	unlock_mappings(task, mm);
	d->bytes += bytes;
	d->burst += bytes;
	return 0;
}

/* Have the tracer take away what was told; -EINTR: a signal is to end us. */
static int wait_for_tracer(struct dumping *d)
{
	if (d->burst > BURST) {
		schedule_timeout_killable(HZ / 10);
		d->burst = 0;
	}
	cond_resched();
	return fatal_signal_pending(current) ? -EINTR : 0;
}

static bool is_over(const struct dumping *d)
{
	return d->bytes > MOST_OF_USER && !d->is_root;
}

/* Return -EINTR, or 0, though mappings may be left out. */
static int dump_mappings(struct dumping *d, struct task_struct *task,
			 struct mm_struct *mm)
{
	unsigned long at = 0;
	int err;

	do {
		if (is_over(d)) {
			leave_out(&d->many, task_tgid_nr(task));
			return 0;
		}
		err = dump_some(d, task, mm, &at);
		if (err == -EBUSY)
			leave_out(&d->locked, task_tgid_nr(task));
		if (err)
			return err == -EINTR ? err : 0;
		err = wait_for_tracer(d);
	} while (!err && at && trace_kunwind_map_enabled());
	return err;
}

static int dump_process(struct dumping *d, const struct process *p)
{
	struct task_struct *task = get_pid_task(p->pid, PIDTYPE_TGID);
	struct mm_struct *mm = task ? mm_of(task) : NULL;
	int err = 0;

	if (!uid_eq(d->uid, p->uid) || d->is_root != p->is_root) {
		d->uid = p->uid;
		d->is_root = p->is_root;
		d->bytes = 0;
		d->patience.left = KW_PATIENCE;
	}
	if (mm) {
		err = dump_mappings(d, task, mm);
		mmdrop(mm);
	}
	if (task)
		put_task_struct(task);
	return err;
}

static int compare(const void *a, const void *b)
{
	const struct process *p = a, *q = b;
	uid_t x = __kuid_val(p->uid), y = __kuid_val(q->uid);

	if (p->is_root != q->is_root)
		return p->is_root ? -1 : 1;
	return x < y ? -1 : x > y;
}

/*
 * Return true if a dump is to tell of p: of any process at first, and then of those that
 * were forked since, perhaps by a parent of which nothing had been told.  A process that
 * executes something tells of itself, and a child of vfork(2) is about to.
 */
static bool is_wanted(struct task_struct *p, u64 since)
{
	if (!kw_live_thread(p))
		return false;
	return !since ||
	       (p->start_time >= since && READ_ONCE(p->flags) & PF_FORKNOEXEC &&
		!READ_ONCE(p->vfork_done));
}

static size_t count_processes(u64 since)
{
	struct task_struct *p;
	size_t nr = 0;

	rcu_read_lock();
	for_each_process(p) nr += is_wanted(p, since);
	rcu_read_unlock();
	return nr;
}

/* All of now, or those that were forked since. */
static int find_processes(struct processes *ps, u64 since)
{
	size_t room = count_processes(since) + 64;
	struct task_struct *p;

	ps->nr = 0;
	ps->p = kvmalloc_array(room, sizeof(*ps->p), GFP_KERNEL);
	if (!ps->p)
		return -ENOMEM;
	rcu_read_lock();
	for_each_process(p) if (is_wanted(p, since) && ps->nr < room)
		ps->p[ps->nr++] = process_of(p);
	rcu_read_unlock();
	sort(ps->p, ps->nr, sizeof(*ps->p), compare, NULL);
	return 0;
}

static void free_processes(struct processes *ps)
{
	size_t i;

	for (i = 0; i < ps->nr; i++)
		put_pid(ps->p[i].pid);
	kvfree(ps->p);
}

/*
 * Tell each user's processes, with limits that begin anew.  Return 1, 0 if there are no
 * processes, or an error.
 */
static int dump_pass(struct dumping *d, u64 since)
{
	struct processes ps;
	int err = find_processes(&ps, since);
	size_t i;

	if (err)
		return err;
	d->uid = INVALID_UID;
	for (i = 0; i < ps.nr && !err && trace_kunwind_map_enabled(); i++)
		err = dump_process(d, &ps.p[i]);
	free_processes(&ps);
	return err ? err : ps.nr > 0;
}

static void leave_out_late(struct dumping *d, u64 since)
{
	struct task_struct *p;

	rcu_read_lock();
	for_each_process(p) if (is_wanted(p, since))
		leave_out(&d->late, task_tgid_nr(p));
	rcu_read_unlock();
}

/* The caller has the mutex. */
static int dump_all(void)
{
	struct dumping d = { .bytes = 0 };
	u64 begin = 0, since = 0;
	int i, more = 1;

	for (i = 0; i < PASSES && more > 0; i++) {
		begin = ktime_get_ns();
		more = dump_pass(&d, since);
		since = begin - BIRTH;
	}
	if (more > 0 && trace_kunwind_map_enabled())
		leave_out_late(&d, begin);
	say_left_out(&d.locked, "which keep them locked");
	say_left_out(&d.many, "whose user has very many");
	say_left_out(&d.late,
		     "which were forked late and have their parents' at most");
	return min(more, 0);
}

static int dump(void)
{
	int err;

	if (mutex_lock_killable(&dump_mutex))
		return -EINTR;
	err = dump_all();
	mutex_unlock(&dump_mutex);
	return err;
}

static void dump_later(struct work_struct *work)
{
	dump();
}

static DECLARE_WORK(dump_work, dump_later);

static void on_session(void *data, void *session)
{
	queue_work(system_unbound_wq, &dump_work);
}

static int set_dump(const char *text, const struct kernel_param *param)
{
	bool on;
	int err = kstrtobool(text, &on);

	if (!err && on)
		err = dump();
	return err;
}

static const struct kernel_param_ops dump_ops = { .set = set_dump };

module_param_cb(statedump, &dump_ops, NULL, 0200);
MODULE_PARM_DESC(statedump, "write 1: tell of all mappings once more");

/* --- being told --- */

static struct kw_point points[] = {
	{ "sched_process_fork", on_fork },
	{ "sched_process_exec", on_exec },
};

/* LTTng's own module that has the tracepoint comes and goes. */
static int on_module(struct notifier_block *nb, unsigned long what, void *arg)
{
	const struct tp_module *m = arg;
	struct tracepoint *tp;
	int i;

	for (i = 0; i < m->mod->num_tracepoints; i++) {
		tp = tracepoint_ptr_deref(&m->mod->tracepoints_ptrs[i]);
		if (strcmp(tp->name, "lttng_statedump_start") != 0)
			continue;
		if (what == MODULE_STATE_COMING)
			tracepoint_probe_register(tp, on_session, NULL);
		else if (what == MODULE_STATE_GOING)
			tracepoint_probe_unregister(tp, on_session, NULL);
	}
	return NOTIFY_OK;
}

static struct notifier_block module_notifier = { .notifier_call = on_module };

static void free_paths(void)
{
	int cpu;

	for_each_possible_cpu(cpu) kfree(per_cpu(paths, cpu));
}

static int alloc_paths(void)
{
	int cpu;

	for_each_possible_cpu(cpu)
	{
		per_cpu(paths, cpu) = kmalloc(PATH_MAX, GFP_KERNEL);
		if (!per_cpu(paths, cpu)) {
			free_paths();
			return -ENOMEM;
		}
	}
	return 0;
}

int lk_maps_init(void)
{
	int err = alloc_paths();

	if (err)
		return err;
	err = kw_points_join(points, ARRAY_SIZE(points));
	if (err)
		goto free;
	err = register_kprobe(&mmap_probe);
	if (err)
		goto leave;
	err = register_tracepoint_module_notifier(&module_notifier);
	if (!err)
		return 0;
	unregister_kprobe(&mmap_probe);
leave:
	kw_points_leave(points, ARRAY_SIZE(points));
free:
	free_paths();
	return err;
}

void lk_maps_exit(void)
{
	/* This calls on_module() once more for each module, going. */
	unregister_tracepoint_module_notifier(&module_notifier);
	unregister_kprobe(&mmap_probe);
	kw_points_leave(points, ARRAY_SIZE(points));
	cancel_work_sync(&dump_work);
	free_paths();
}
