// SPDX-License-Identifier: GPL-2.0-only
#include "lkstack.h"

#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/sched/task_stack.h>
#include <linux/slab.h>

#include "kunwind.h"

#define LEVELS 4 /* task, softirq, interrupt, NMI */

/* As many as LTTng's own contexts of stacks have. */
static unsigned int max_frames = 128;
module_param(max_frames, uint, 0444);
MODULE_PARM_DESC(max_frames, "frames of a stack, up to 1024");

static DEFINE_PER_CPU(unsigned long *, rooms); /* LEVELS of max_frames each */
static DEFINE_PER_CPU(unsigned int, level);

void lk_stack_exit(void)
{
	int cpu;

	for_each_possible_cpu(cpu) kvfree(per_cpu(rooms, cpu));
}

int lk_stack_init(void)
{
	int cpu;

	max_frames = clamp_t(unsigned int, max_frames, 1, KUNWIND_MAX_FRAMES);
	for_each_possible_cpu(cpu)
	{
		per_cpu(rooms, cpu) = kvcalloc(
			LEVELS * max_frames, sizeof(unsigned long), GFP_KERNEL);
		if (!per_cpu(rooms, cpu)) {
			lk_stack_exit();
			return -ENOMEM;
		}
	}
	return 0;
}

void lk_stack_take(struct lk_stack *ret)
{
	unsigned int at = this_cpu_inc_return(level) - 1;
	enum ow_end end = OW_END_NOT_YET;
	unsigned long *pcs;
	int nr;

	*ret = (struct lk_stack){ .pcs = NULL };
	if (at >= LEVELS)
		return;
	pcs = this_cpu_read(rooms) + at * max_frames;
	nr = kunwind_user_pcs(task_pt_regs(current), pcs, max_frames, &end);
	if (nr <= 0)
		return;
	ret->pcs = pcs;
	ret->nr = nr;
	ret->reason = end;
}

void lk_stack_drop(void)
{
	this_cpu_dec(level);
}
