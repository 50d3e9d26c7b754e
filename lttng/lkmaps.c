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
#include <linux/workqueue.h>

#include "kpatience.h"
#include "kpoint.h"
#include "lkbuildid.h"
#include "lktrace.h"

/* What is told at once before a tracer has time to take it away. */
#define BURST (64 * 1024)

static DEFINE_PER_CPU(char *, paths); /* PATH_MAX each */

/* The caller can't be moved to another CPU. */
static size_t tell(struct vm_area_struct *vma, pid_t pid)
{
	char *buf = this_cpu_read(paths), *path;
	u8 build_id[LK_BUILD_ID];
	struct lk_mapping m = {
		.pid = pid,
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

/* All of mm, which is locked for reading; returns about how many bytes that is. */
static size_t tell_all(struct mm_struct *mm, pid_t pid)
{
	struct vm_area_struct *vma;
	size_t bytes = 0;
	VMA_ITERATOR(vmi, mm, 0);

	for_each_vma(vmi, vma)
	{
		preempt_disable();
		bytes += tell(vma, pid);
		preempt_enable();
	}
	return bytes;
}

/* --- as it happens --- */

static int on_mmap(struct kprobe *probe, struct pt_regs *regs)
{
	struct vm_area_struct *vma = (void *)regs_get_kernel_argument(regs, 0);

	if (trace_kunwind_map_enabled() && vma->vm_mm == current->mm &&
	    !current->in_execve)
		tell(vma, task_tgid_nr(current));
	return 0;
}

static struct kprobe mmap_probe = {
	.symbol_name = "perf_event_mmap",
	.pre_handler = on_mmap,
};

static void on_exec(void *data, struct task_struct *p, pid_t old_pid,
		    struct linux_binprm *bprm)
{
	trace_kunwind_exec(task_tgid_nr(p));
	if (!trace_kunwind_map_enabled() || !mmap_read_trylock(p->mm))
		return;
	tell_all(p->mm, task_tgid_nr(p));
	mmap_read_unlock(p->mm);
}

static void on_fork(void *data, struct task_struct *parent,
		    struct task_struct *child)
{
	if (child->mm && parent->tgid != child->tgid &&
	    !(child->flags & PF_KTHREAD))
		trace_kunwind_fork(task_tgid_nr(parent), task_tgid_nr(child));
}

/* --- all that there are --- */

static DEFINE_MUTEX(dump_mutex);

/* What one dump has come to. */
struct dumping {
	struct kw_patience patience; /* with all processes together */
	size_t bytes;
	unsigned int nr_left_out; /* processes that kept their mappings locked, */
	pid_t left_out;           /* and the first one of them */
};

static void leave_out(struct dumping *d, pid_t pid)
{
	if (d->nr_left_out++ == 0)
		d->left_out = pid;
}

/* Return false if a signal is to end us. */
static bool dump_process(struct dumping *d, struct task_struct *p)
{
	struct mm_struct *mm = get_task_mm(p);
	int err = 0;

	if (!mm)
		return true;
	while (!err && !mmap_read_trylock(mm))
		err = kw_wait_a_moment(&d->patience);
	if (err) {
		leave_out(d, task_tgid_nr(p));
	} else {
		d->bytes += tell_all(mm, task_tgid_nr(p));
		mmap_read_unlock(mm);
	}
	mmput(mm);
	return err != -EINTR;
}

/* The process of the next higher number, with a reference; or NULL. */
static struct task_struct *next_process(pid_t after)
{
	struct task_struct *p, *best = NULL;

	rcu_read_lock();
	for_each_process(p) if (p->mm && task_tgid_nr(p) > after &&
				(!best || task_tgid_nr(p) < task_tgid_nr(best)))
		best = p;
	if (best)
		get_task_struct(best);
	rcu_read_unlock();
	return best;
}

static int dump(void)
{
	struct dumping d = { .patience = { KW_PATIENCE } };
	struct task_struct *p;
	pid_t last = 0;
	bool goes_on = true;

	if (mutex_lock_killable(&dump_mutex))
		return -EINTR;
	while (goes_on && trace_kunwind_map_enabled() &&
	       (p = next_process(last))) {
		last = task_tgid_nr(p);
		goes_on = dump_process(&d, p);
		put_task_struct(p);
		if (d.bytes > BURST)
			msleep(100);
		d.bytes = d.bytes > BURST ? 0 : d.bytes;
	}
	mutex_unlock(&dump_mutex);
	if (d.nr_left_out)
		pr_notice_ratelimited(
			"lttng-kunwind: the trace lacks mappings of %u processes, which "
			"keep them locked: process %d is the first one\n",
			d.nr_left_out, d.left_out);
	return goes_on ? 0 : -EINTR;
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
