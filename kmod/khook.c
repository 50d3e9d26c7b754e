// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * stack_trace_save_user() and perf_callchain_user() follow frame pointers.
 * Redirected here by ftrace, as livepatch redirects functions, they give full
 * stacks to ftrace's userstacktrace, LTTng, perf record -g and bpf_get_stack().
 * Processes that nobody follows are walked by frame pointers as before.
 */
#include "khook.h"

#include <linux/ftrace.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/perf_event.h>
#include <linux/sched/task_stack.h>
#include <linux/stacktrace.h>

#include "ow_kunwind.h"

#include "kspace.h"
#include "kunwind.h"
#include "kwalk.h"

static DEFINE_MUTEX(hook_mutex);
static bool wanted, ready; /* under hook_mutex */

#ifdef CONFIG_DYNAMIC_FTRACE_WITH_REGS

static unsigned int new_save_user(unsigned long *store, unsigned int size)
{
	enum ow_end end;
	int nr = kunwind_user_pcs(task_pt_regs(current), store, size, &end);

	return max(nr, 0);
}

static bool store_pc(void *arg, u64 pc)
{
	return perf_callchain_store(arg, pc) == 0;
}

static void new_callchain_user(struct perf_callchain_entry_ctx *entry,
			       struct pt_regs *regs)
{
	enum ow_end end;

	if (kw_walk_each(regs, entry->max_stack, store_pc, entry, &end) < 0)
		perf_callchain_store(entry, instruction_pointer(regs));
}

/* Called in place of the function, which goes on at once if it isn't ours. */
static void notrace redirect(unsigned long ip, unsigned long parent,
			     struct ftrace_ops *ops, struct ftrace_regs *fregs)
{
	bool followed;

	/* What runs may be a guest of this task: the kernel's own can tell. */
	if (current->flags & PF_VCPU)
		return;
	rcu_read_lock_sched_notrace();
	followed = current->mm && !(current->flags & PF_KTHREAD) &&
		   kw_space_find(current->mm);
	rcu_read_unlock_sched_notrace();
	if (followed)
		ftrace_regs_set_instruction_pointer(
			fregs, (unsigned long)ops->private);
}

#define HOOK(f)                                                         \
	{                                                               \
		.func = redirect, .private = f,                         \
		.flags = FTRACE_OPS_FL_IPMODIFY |                       \
			 (IS_ENABLED(CONFIG_DYNAMIC_FTRACE_WITH_ARGS) ? \
				  0 :                                   \
				  FTRACE_OPS_FL_SAVE_REGS),             \
	}

static struct {
	const char *name;
	struct ftrace_ops ops;
	bool has_filter;
} hooks[] = {
	{ "stack_trace_save_user", HOOK(new_save_user), false },
	{ "perf_callchain_user", HOOK(new_callchain_user), false },
};

static unsigned int nr_hooked; /* under hook_mutex */

static int hook_one(size_t i)
{
	struct ftrace_ops *ops = &hooks[i].ops;
	int err = 0;

	/* It stays: ops whose filter was freed can't have another one. */
	if (!hooks[i].has_filter)
		err = ftrace_set_filter(ops, (u8 *)hooks[i].name,
					strlen(hooks[i].name), 1);
	if (err)
		return err;
	hooks[i].has_filter = true;
	return register_ftrace_function(ops);
}

static void unhook(void)
{
	if (nr_hooked == 0)
		return;
	while (nr_hooked > 0)
		unregister_ftrace_function(&hooks[--nr_hooked].ops);
	/* A task may have been preempted within what replaced them. */
	synchronize_rcu_tasks();
}

static void free_filters(void)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(hooks); i++)
		if (hooks[i].has_filter)
			ftrace_free_filter(&hooks[i].ops);
}

/* Both or none: -EBUSY where a live patch has one of them. */
static int hook(void)
{
	int err = 0;

	while (!err && nr_hooked < ARRAY_SIZE(hooks)) {
		err = hook_one(nr_hooked);
		nr_hooked += !err;
	}
	if (err)
		unhook();
	return err;
}

u32 kw_hook_features(void)
{
	return OW_KUNWIND_HOOKS;
}

#else

static void unhook(void)
{
}

static void free_filters(void)
{
}

static int hook(void)
{
	return -EOPNOTSUPP;
}

u32 kw_hook_features(void)
{
	return 0;
}

#endif

/* The caller holds hook_mutex. */
static int act(void)
{
	if (!ready)
		return 0;
	if (wanted)
		return hook();
	unhook();
	return 0;
}

static int set_hook(const char *text, const struct kernel_param *param)
{
	bool on;
	int err = kstrtobool(text, &on);

	if (err)
		return err;
	mutex_lock(&hook_mutex);
	wanted = on;
	err = act();
	if (err)
		wanted = false;
	mutex_unlock(&hook_mutex);
	return err;
}

static const struct kernel_param_ops hook_ops = {
	.set = set_hook,
	.get = param_get_bool,
};

module_param_cb(hook, &hook_ops, &wanted, 0644);
MODULE_PARM_DESC(hook, "have the kernel's own user stacks unwound, too");

int kw_hook_init(void)
{
	int err;

	mutex_lock(&hook_mutex);
	ready = true;
	err = act();
	mutex_unlock(&hook_mutex);
	return err;
}

void kw_hook_exit(void)
{
	mutex_lock(&hook_mutex);
	ready = false;
	unhook();
	free_filters();
	mutex_unlock(&hook_mutex);
}
