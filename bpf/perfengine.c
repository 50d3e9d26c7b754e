// SPDX-License-Identifier: BSD-2-Clause
/*
 * The engine for which the kernel copies registers and a piece of the stack of
 * who runs; walks are ours.
 */
#include "perfsampling.h"

#define MOST_STACK 65528U /* bytes: a record's size has 16 bits */

/*
 * Return true if the registers are those of a thread that the kernel has started in the
 * process: it runs no code of the program, and has neither pc nor sp (Linux,
 * arch/x86/kernel/process.c, copy_thread()).
 */
static bool is_worker(const struct ow_arch *arch, const struct ow_regs *regs)
{
	return regs->val[arch->pc] == 0 && regs->val[arch->sp] == 0;
}

static size_t walk(struct ow_recorder *r, const struct ow_perfsample *s,
		   struct ow_image *image, size_t first, enum ow_end *end)
{
	struct ow_perfsampling *p = r->priv;
	const struct ow_arch *arch;
	struct ow_window window;
	struct ow_regs regs;

	if (!s->regs || !image)
		return 0;
	arch = ow_perfsampling_regs(s->regs, &regs);
	if (!arch) {
		*end = OW_END_UNSUPPORTED;
		return 0;
	}
	if (is_worker(arch, &regs))
		return 0;
	window = (struct ow_window){ regs.val[arch->sp], s->stack_size,
				     s->stack };
	p->walks.uid = ow_images_uid(&r->images, (pid_t)s->pid);
	p->walks.time = s->time;
	return ow_copywalk_run(&p->walks, image, arch, &regs, &window, first,
			       end);
}

static int engine_open(struct ow_recorder *r, struct ow_error *err)
{
	uint32_t stack = (uint32_t)r->options.stack_size;
	struct ow_perfsampling *p;
	int failed = ow_perfsampling_open(r, sizeof(*p), "perf", err);

	if (failed)
		return failed;
	p = r->priv;
	p->walk = walk;
	p->attr.exclude_callchain_user = 1;
	ow_perfsampling_ask_regs(&p->attr);
	p->attr.sample_type |= PERF_SAMPLE_STACK_USER;
	/* A record has room for other things, too. */
	p->attr.sample_stack_user =
		(stack < MOST_STACK - 8192 ? stack : MOST_STACK - 8192) & ~7U;
	return ow_perfsampling_begin(r, err);
}

const struct ow_engine_ops ow_perf_engine = {
	.open = engine_open,
	OW_PERFSAMPLING_OPS,
};
