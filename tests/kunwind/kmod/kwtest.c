// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * A module that uses kunwind's calls in each context: on the tracepoint of
 * getppid(), in a timer's interrupt, in a perf event, in any NMI (sysrq's l sends
 * some), and deferred.  /sys/kernel/debug/kwtest/NAME has the last stack: its end,
 * and program counters.
 */
#include <asm/nmi.h>
#include <linux/debugfs.h>
#include <linux/hrtimer.h>
#include <linux/irq_work.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/perf_event.h>
#include <linux/sched/task_stack.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/tracepoint.h>

#include "kunwind.h"

#define MAX_FRAMES 1024

struct stack {
	const char *name;
	int nr;
	enum ow_end end;
	unsigned long in_nmi, in_irq, taken, unsupported;
	struct ow_frame frames[MAX_FRAMES];
};

static struct stack stacks[] = {
	{ .name = "syscall" },  { .name = "timer" }, { .name = "event" },
	{ .name = "deferred" }, { .name = "nmi" },
};

static int pid; /* whose stacks are taken; -1: everybody's */
module_param(pid, int, 0644);
static struct tracepoint *sys_enter;
static struct hrtimer timer;
static struct perf_event *event;
static struct dentry *dir;
static struct kunwind_deferred deferred;
static atomic_t deferring = ATOMIC_INIT(0);

static void take(struct stack *s)
{
	int want = READ_ONCE(pid);

	if (current->flags & (PF_EXITING | PF_KTHREAD) || !current->mm ||
	    (want != -1 && task_tgid_nr(current) != want))
		return;
	s->in_nmi += !!in_nmi();
	s->in_irq += !!in_hardirq();
	s->nr = kunwind_user_stack(task_pt_regs(current), s->frames, MAX_FRAMES,
				   &s->end);
	s->unsupported += s->nr > 0 && s->end == OW_END_UNSUPPORTED;
	s->taken++;
}

static void on_deferred(struct kunwind_deferred *d,
			const struct ow_frame *frames, int nr, enum ow_end end)
{
	struct stack *s = &stacks[3];

	s->nr = nr;
	s->end = end;
	if (nr > 0)
		memcpy(s->frames, frames, nr * sizeof(*frames));
	s->taken++;
	atomic_set(&deferring, 0);
}

static void on_sys_enter(void *data, struct pt_regs *regs, long id)
{
	if (id != __NR_getppid)
		return;
	take(&stacks[0]);
	if (atomic_cmpxchg(&deferring, 0, 1))
		return;
	deferred.func = on_deferred;
	deferred.max = MAX_FRAMES;
	if (kunwind_user_stack_deferred(&deferred))
		atomic_set(&deferring, 0);
}

static enum hrtimer_restart on_timer(struct hrtimer *t)
{
	take(&stacks[1]);
	hrtimer_forward_now(t, ms_to_ktime(1));
	return HRTIMER_RESTART;
}

static void on_event(struct perf_event *e, struct perf_sample_data *data,
		     struct pt_regs *regs)
{
	take(&stacks[2]);
}

static int on_nmi(unsigned int type, struct pt_regs *regs)
{
	take(&stacks[4]);
	return NMI_DONE;
}

static int stack_show(struct seq_file *m, void *v)
{
	const struct stack *s = m->private;
	int i;

	seq_printf(m,
		   "taken %lu nmi %lu irq %lu unsupported %lu end %d nr %d\n",
		   s->taken, s->in_nmi, s->in_irq, s->unsupported, s->end,
		   s->nr);
	for (i = 0; i < s->nr; i++)
		seq_printf(m, "%llx\n", s->frames[i].pc);
	return 0;
}

DEFINE_SHOW_ATTRIBUTE(stack);

/* Where kunwind counts the generations of maps, of which it tells nobody; or NULL. */
static atomic64_t *find_generation(void)
{
	struct kprobe probe = { .symbol_name = "kallsyms_lookup_name" };
	unsigned long (*look_up)(const char *name);

	if (register_kprobe(&probe))
		return NULL;
	look_up = (void *)probe.addr;
	unregister_kprobe(&probe);
	return (void *)look_up("kunwind:last_generation");
}

static int get_generation(char *text, const struct kernel_param *param)
{
	const atomic64_t *at = find_generation();

	return at ? sysfs_emit(text, "%lld\n", atomic64_read(at)) : -ENOENT;
}

static int set_generation(const char *text, const struct kernel_param *param)
{
	atomic64_t *at = find_generation();
	s64 value;
	int err = at ? kstrtos64(text, 0, &value) : -ENOENT;

	if (!err)
		atomic64_set(at, value);
	return err;
}

static const struct kernel_param_ops generation_ops = {
	.get = get_generation,
	.set = set_generation,
};

module_param_cb(generation, &generation_ops, NULL, 0600);

static void match(struct tracepoint *tp, void *priv)
{
	if (strcmp(tp->name, "sys_enter") == 0)
		sys_enter = tp;
}

static void start_event(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.size = sizeof(attr),
		.sample_period = 1000000,
	};

	event = perf_event_create_kernel_counter(&attr, 0, NULL, on_event,
						 NULL);
}

static int __init kwtest_init(void)
{
	size_t i;
	int err;

	for_each_kernel_tracepoint(match, NULL);
	if (!sys_enter)
		return -ENOENT;
	err = tracepoint_probe_register(sys_enter, on_sys_enter, NULL);
	if (err)
		return err;
	dir = debugfs_create_dir("kwtest", NULL);
	for (i = 0; i < ARRAY_SIZE(stacks); i++)
		debugfs_create_file(stacks[i].name, 0444, dir, &stacks[i],
				    &stack_fops);
	hrtimer_init(&timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED);
	timer.function = on_timer;
	hrtimer_start(&timer, ms_to_ktime(1), HRTIMER_MODE_REL_PINNED);
	start_event();
	return register_nmi_handler(NMI_LOCAL, on_nmi, 0, "kwtest");
}

static void __exit kwtest_exit(void)
{
	unregister_nmi_handler(NMI_LOCAL, "kwtest");
	debugfs_remove_recursive(dir);
	hrtimer_cancel(&timer);
	if (!IS_ERR_OR_NULL(event))
		perf_event_release_kernel(event);
	tracepoint_probe_unregister(sys_enter, on_sys_enter, NULL);
	tracepoint_synchronize_unregister();
	kunwind_deferred_flush();
	synchronize_rcu_tasks();
}

module_init(kwtest_init);
module_exit(kwtest_exit);
MODULE_LICENSE("Dual BSD/GPL");
MODULE_DESCRIPTION("test of kunwind's calls");
