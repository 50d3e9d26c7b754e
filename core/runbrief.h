/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* As far as cached rows lead in the usual way. */
#ifndef OW_RUNBRIEF_H
#define OW_RUNBRIEF_H

#include "stepbrief.h"

struct ow_run {
	const struct ow_step *step;
	const struct ow_window *stack;
	const struct ow_cache *cache;
	struct ow_regs *regs;         /* of the last frame found, */
	struct ow_frame *frame;       /* and itself */
	const struct ow_frame *limit; /* the last one that there is room for */
	/* Out: */
	const struct ow_brief *row; /* of the last frame, if it is cached */
	bool torn; /* OW_STEP_TORN: regs are of no use; false before */
};

/* The address that a frame's row is looked up by. */
static inline uint64_t ow_row_addr(const struct ow_frame *f)
{
	return f->pc - (f->flags & OW_FRAME_RETURN ? 1 : 0);
}

OW_TEMPLATE void ow_run_brief(struct ow_run *run, ow_word_fn *word)
{
	const struct ow_target *t = run->step->target;
	struct ow_frame *f = run->frame;
	struct ow_caller caller;
	const struct ow_brief *b = NULL;
	enum ow_stepped stepped;
	uint64_t addr = ow_row_addr(f);

	for (; f < run->limit; addr = caller.pc - 1) {
		b = ow_cache_get(run->cache, addr, t->map.generation);
		if (!b)
			break;
		stepped = ow_step_brief(run->step, run->stack, word, b,
					run->regs, &caller);
		if (ow_unlikely(stepped == OW_STEP_TORN))
			run->torn = true;
		if (ow_unlikely(stepped != OW_STEP_TAKEN))
			break;
		*++f = (struct ow_frame){
			.pc = caller.pc,
			.sp = caller.sp,
			.how = b->how,
			.flags = OW_FRAME_RETURN,
		};
	}
	run->frame = f;
	run->row = b;
}

#endif /* OW_RUNBRIEF_H */
