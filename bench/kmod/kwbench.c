// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Counts what it costs to take a user stack, in ticks of the time stamp counter,
 * which is an instruction each in QEMU with -icount shift=0.
 */
#include "kwbench.h"

#include <linux/kprobes.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/sched/task_stack.h>
#include <linux/uaccess.h>

#include <asm/asm.h>
#include <asm/tsc.h>

#include "kcontext.h"
#include "kspace.h"
#include "kunwind.h"
#include "kuse.h"

#define TIMES   5
#define PAINT   0x5a17c0de5a17c0deUL
#define PAINTED 512 /* words below the stack pointer */

static DEFINE_MUTEX(mutex); /* for all of these */
static unsigned long pcs[KUNWIND_MAX_FRAMES];

static unsigned int (*save_user)(unsigned long *store, unsigned int size);

static noinline unsigned int take_nothing(unsigned int max)
{
	barrier();
	return 0;
}

static noinline unsigned int take_kunwind(unsigned int max)
{
	enum ow_end end;
	int nr = kunwind_user_pcs(task_pt_regs(current), pcs, max, &end);

	return max(nr, 0);
}

static noinline unsigned int take_fp(unsigned int max)
{
	return save_user(pcs, max);
}

static unsigned int (*const takes[KWBENCH_NR])(unsigned int max) = {
	take_kunwind,
	take_fp,
};

/* How many ticks a call takes, and how far down it writes. */
struct cost {
	u64 ticks;
	unsigned int stack;
};

/* Nothing else may use the stack meanwhile. */
static noinline struct cost cost_of(unsigned int (*take)(unsigned int max),
				    unsigned int max)
{
	volatile unsigned long *top = (void *)current_stack_pointer;
	u64 start, took;
	int i;

	for (i = 1; i <= PAINTED; i++)
		top[-i] = PAINT;
	start = rdtsc_ordered();
	take(max);
	took = rdtsc_ordered() - start;
	for (i = PAINTED; i > 0 && top[-i] == PAINT; i--)
		;
	return (struct cost){ took, i * sizeof(*top) };
}

static int run(struct kwbench *b)
{
	unsigned int (*take)(unsigned int max) = takes[b->what];
	u64 none = U64_MAX, least = U64_MAX;
	struct cost cost;
	int i;

	local_irq_disable();
	for (i = 0; i < TIMES; i++)
		none = min(none, cost_of(take_nothing, b->max).ticks);
	cost = cost_of(take, b->max);
	b->first = cost.ticks - none;
	b->first_stack = cost.stack;
	for (i = 0; i < TIMES; i++) {
		cost = cost_of(take, b->max);
		least = min(least, cost.ticks);
	}
	b->again = least - none;
	b->stack = cost.stack;
	b->nr = take(b->max);
	local_irq_enable();
	return copy_to_user((void __user *)b->pcs, pcs, b->nr * sizeof(*pcs)) ?
		       -EFAULT :
		       0;
}

static long ioctl_run(struct kwbench __user *arg)
{
	struct kwbench b;
	int err;

	if (copy_from_user(&b, arg, sizeof(b)))
		return -EFAULT;
	if (b.what >= KWBENCH_NR || b.max == 0 || b.max > KUNWIND_MAX_FRAMES)
		return -EINVAL;
	mutex_lock(&mutex);
	err = run(&b);
	mutex_unlock(&mutex);
	if (err)
		return err;
	return copy_to_user(arg, &b, sizeof(b)) ? -EFAULT : 0;
}

static const struct kwbench_sizes sizes = {
	.table = sizeof(struct kw_table),
	.use = sizeof(struct kw_use),
	.segment = sizeof(struct ow_kunwind_segment),
	.space = sizeof(struct kw_space) + sizeof(struct kw_map),
	.range = sizeof(struct ow_range) + sizeof(struct ow_module) +
		 sizeof(struct kw_place),
	.context = sizeof(struct kw_context),
};

static long kwbench_ioctl(struct file *file, unsigned int cmd,
			  unsigned long arg)
{
	void __user *to = (void __user *)arg;

	if (cmd == KWBENCH_RUN)
		return ioctl_run(to);
	if (cmd == KWBENCH_SIZES)
		return copy_to_user(to, &sizes, sizeof(sizes)) ? -EFAULT : 0;
	return -ENOTTY;
}

static const struct file_operations fops = {
	.owner = THIS_MODULE,
	.unlocked_ioctl = kwbench_ioctl,
};

static struct miscdevice device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "kwbench",
	.fops = &fops,
	.mode = 0600,
};

/* It isn't exported; a probe tells where it is. */
static int __init kwbench_init(void)
{
	struct kprobe probe = { .symbol_name = "stack_trace_save_user" };
	int err = register_kprobe(&probe);

	if (err)
		return err;
	save_user = (void *)probe.addr;
	unregister_kprobe(&probe);
	return misc_register(&device);
}

static void __exit kwbench_exit(void)
{
	misc_deregister(&device);
}

module_init(kwbench_init);
module_exit(kwbench_exit);
MODULE_LICENSE("Dual BSD/GPL");
MODULE_DESCRIPTION("what kunwind costs");
