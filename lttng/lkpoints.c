// SPDX-License-Identifier: GPL-2.0-only
/*
 * Parameters syscalls, sched_switch and timer_hz choose the points; each can be
 * written at any time.  Nothing is hooked that isn't chosen, and no stack is
 * taken while nobody records kunwind_callstack.
 */
#include "lkpoints.h"

#include <asm/syscall.h>
#include <linux/compat.h>
#include <linux/cpuhotplug.h>
#include <linux/hrtimer.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "kpoint.h"
#include "lksyscalls.h"
#include "lktrace.h"

#define MAX_HZ 10000

static DEFINE_MUTEX(points_mutex);
static bool ready;                  /* under points_mutex, as all below */
static struct lk_syscalls syscalls; /* read by who isn't */
static char *syscalls_text;
static bool sched_switch;
static unsigned int timer_hz;
static int cpu_state; /* of hotplug, or 0: no timers */
static DEFINE_PER_CPU(struct hrtimer, timers);

/* --- what happens --- */

static bool is_program(void)
{
	return current->mm && !(current->flags & (PF_KTHREAD | PF_EXITING));
}

static bool is_wanted(long nr)
{
	return nr >= 0 && nr < LK_MAX_SYSCALLS && test_bit(nr, syscalls.wanted);
}

static void on_sys_enter(void *data, struct pt_regs *regs, long nr)
{
	if (!trace_kunwind_callstack_enabled())
		return;
	if (in_compat_syscall()) {
		if (syscalls.any)
			trace_kunwind_callstack(LK_COMPAT_SYSCALL_ENTRY, nr);
	} else if (is_wanted(nr)) {
		trace_kunwind_callstack(LK_SYSCALL_ENTRY, nr);
	}
}

static void on_sys_exit(void *data, struct pt_regs *regs, long ret)
{
	long nr;

	if (!trace_kunwind_syscall_exit_enabled())
		return;
	nr = syscall_get_nr(current, regs);
	if (in_compat_syscall() ? syscalls.any : is_wanted(nr))
		trace_kunwind_syscall_exit(nr, ret);
}

static void on_sched_switch(void *data, bool preempt, struct task_struct *prev,
			    struct task_struct *next, unsigned int prev_state)
{
	if (trace_kunwind_callstack_enabled() && prev == current &&
	    is_program())
		trace_kunwind_callstack(LK_SCHED_SWITCH, -1);
}

static enum hrtimer_restart on_timer(struct hrtimer *t)
{
	unsigned int hz = READ_ONCE(timer_hz);

	if (!hz)
		return HRTIMER_NORESTART;
	if (trace_kunwind_callstack_enabled() && is_program())
		trace_kunwind_callstack(LK_TIMER, -1);
	hrtimer_forward_now(t, ns_to_ktime(NSEC_PER_SEC / hz));
	return HRTIMER_RESTART;
}

/* --- being told --- */

static struct point {
	struct kw_point at;
	bool on;
} enter = { { "sys_enter", on_sys_enter } },
  leave = { { "sys_exit", on_sys_exit } },
  switches = { { "sched_switch", on_sched_switch } };

static struct point *const all[] = { &enter, &leave, &switches };

static int set_point(struct point *p, bool on)
{
	int err;

	if (p->on == on)
		return 0;
	err = on ? tracepoint_probe_register(p->at.tp, p->at.func, NULL) :
		   tracepoint_probe_unregister(p->at.tp, p->at.func, NULL);
	if (!err)
		p->on = on;
	return err;
}

static int start_timer(unsigned int cpu)
{
	struct hrtimer *t = this_cpu_ptr(&timers);

	hrtimer_init(t, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_HARD);
	t->function = on_timer;
	hrtimer_start(t, ns_to_ktime(NSEC_PER_SEC / max(timer_hz, 1u)),
		      HRTIMER_MODE_REL_PINNED_HARD);
	return 0;
}

static int stop_timer(unsigned int cpu)
{
	hrtimer_cancel(per_cpu_ptr(&timers, cpu));
	return 0;
}

static void stop_timers(void)
{
	if (cpu_state)
		cpuhp_remove_state(cpu_state);
	cpu_state = 0;
}

static int start_timers(void)
{
	int state = cpuhp_setup_state(CPUHP_AP_ONLINE_DYN, "lttng-kunwind",
				      start_timer, stop_timer);

	if (state < 0)
		return state;
	cpu_state = state;
	return 0;
}

/* What the parameters ask for; the caller holds points_mutex. */
static int act(void)
{
	bool calls = !bitmap_empty(syscalls.wanted, LK_MAX_SYSCALLS);
	int err;

	if (!ready)
		return 0;
	err = set_point(&enter, calls);
	if (!err)
		err = set_point(&leave, calls);
	if (!err)
		err = set_point(&switches, sched_switch);
	stop_timers();
	if (!err && timer_hz)
		err = start_timers();
	return err;
}

/* --- parameters --- */

static int set_syscalls(const char *text, const struct kernel_param *param)
{
	struct lk_syscalls *next = kmalloc(sizeof(*next), GFP_KERNEL);
	char *copy = kstrdup(text, GFP_KERNEL);
	int err = next && copy ? lk_syscalls_parse(text, next) : -ENOMEM;

	if (!err) {
		mutex_lock(&points_mutex);
		syscalls = *next;
		swap(syscalls_text, copy);
		err = act();
		mutex_unlock(&points_mutex);
	}
	kfree(copy);
	kfree(next);
	return err;
}

static int get_syscalls(char *buf, const struct kernel_param *param)
{
	int n;

	mutex_lock(&points_mutex);
	n = scnprintf(buf, PAGE_SIZE, "%s\n",
		      syscalls_text ? strim(syscalls_text) : "");
	mutex_unlock(&points_mutex);
	return n;
}

static int set_switch(const char *text, const struct kernel_param *param)
{
	bool on;
	int err = kstrtobool(text, &on);

	if (err)
		return err;
	mutex_lock(&points_mutex);
	sched_switch = on;
	err = act();
	mutex_unlock(&points_mutex);
	return err;
}

static int set_timer(const char *text, const struct kernel_param *param)
{
	unsigned int hz;
	int err = kstrtouint(text, 0, &hz);

	if (err || hz > MAX_HZ)
		return err ? err : -EINVAL;
	mutex_lock(&points_mutex);
	WRITE_ONCE(timer_hz, hz);
	err = act();
	mutex_unlock(&points_mutex);
	return err;
}

static const struct kernel_param_ops syscalls_ops = { .set = set_syscalls,
						      .get = get_syscalls };
static const struct kernel_param_ops switch_ops = { .set = set_switch,
						    .get = param_get_bool };
static const struct kernel_param_ops timer_ops = { .set = set_timer,
						   .get = param_get_uint };

module_param_cb(syscalls, &syscalls_ops, NULL, 0644);
MODULE_PARM_DESC(syscalls, "system calls that stacks are taken of: all, or "
			   "names and numbers with commas between");
module_param_cb(sched_switch, &switch_ops, &sched_switch, 0644);
MODULE_PARM_DESC(sched_switch, "take the stack of who leaves a CPU");
module_param_cb(timer_hz, &timer_ops, &timer_hz, 0644);
MODULE_PARM_DESC(timer_hz, "take stacks so often a second on each CPU; 0: no");

int lk_points_init(void)
{
	size_t i;
	int err;

	for (i = 0; i < ARRAY_SIZE(all); i++) {
		for_each_kernel_tracepoint(kw_point_match, &all[i]->at);
		if (!all[i]->at.tp)
			return -EOPNOTSUPP;
	}
	mutex_lock(&points_mutex);
	ready = true;
	err = act();
	mutex_unlock(&points_mutex);
	if (err)
		lk_points_exit();
	return err;
}

void lk_points_exit(void)
{
	size_t i;

	mutex_lock(&points_mutex);
	ready = false;
	for (i = 0; i < ARRAY_SIZE(all); i++)
		set_point(all[i], false);
	stop_timers();
	kfree(syscalls_text);
	syscalls_text = NULL;
	mutex_unlock(&points_mutex);
	tracepoint_synchronize_unregister();
}
