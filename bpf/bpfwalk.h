/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Walking a program's stack in the kernel: the same frames and the same ends
 * as core/walk.c gives.
 */
#ifndef OW_BPF_WALK_H
#define OW_BPF_WALK_H

#include "bpfguess.h"
#include "bpfstep.h"

#define PART 64 /* of the most frames */

/* Did the step come nearer to the stack's base?  As core/walk.c has it. */
static __always_inline bool progressed(struct walk *w, __u64 pc, __u64 sp,
				       __u64 old_pc, __u64 old_sp,
				       bool was_return)
{
	if (w->rule.flags & OW_BPF_RULE_SIGNAL) {
		if (pc == w->mark_pc && sp == w->mark_sp && w->mark_at)
			return false;
		if (w->nr >= 2 * w->mark_at) {
			w->mark_at = w->nr;
			w->mark_pc = pc;
			w->mark_sp = sp;
		}
		return pc != old_pc || sp != old_sp;
	}
	return sp > old_sp || (sp == old_sp && !was_return && pc != old_pc);
}

/* The frame that was pushed last ran behind a handler. */
static __always_inline void mark_signal(struct walk *w)
{
	__u32 at = (w->nr_kernel + w->nr - 1) % FRAMES;

	w->stack.frames[at] |= (__u64)OW_FRAME_SIGNAL << 56;
}

/* One frame further; an end (enum ow_end), or 0 to go on. */
__noinline int walk_step(struct walk *w)
{
	__u64 old_pc, old_sp, pc;
	bool was_return, by_signal;
	int end;

	if (!w)
		return OW_END_BAD_RULE;
	if (w->nr >= w->max)
		return OW_END_LIMIT;
	was_return = w->flags & OW_FRAME_RETURN;
	old_pc = reg_of(w, arch.pc);
	old_sp = reg_of(w, arch.sp);
	end = get_rule(w, old_pc - was_return);
	if (end)
		return end;
	by_signal = w->rule.flags & OW_BPF_RULE_SIGNAL;
	if (by_signal)
		mark_signal(w);
	if (w->rule.flags & OW_BPF_RULE_OUTERMOST)
		return OW_END_OUTERMOST;
	end = execute(w);
	if (end)
		return end;
	pc = reg_of(w, arch.pc);
	if (pc == 0 && !by_signal)
		return OW_END_OUTERMOST;
	if (!progressed(w, pc, reg_of(w, arch.sp), old_pc, old_sp, was_return))
		return OW_END_CYCLE;
	if (!is_guess(w, arch.sp))
		w->guessed = 0;
	else if (check_guess(w, pc, reg_of(w, arch.fp)))
		return OW_END_NO_CFI;
	if (w->rule.kind == OW_BPF_FP)
		w->known &= 1ULL << arch.fp % SLOTS | 1ULL << arch.sp % SLOTS |
			    1ULL << arch.pc % SLOTS;
	push_frame(w, w->rule.how, by_signal ? 0 : OW_FRAME_RETURN);
	return 0;
}

/* Some frames further; as walk_step() returns. */
__noinline int walk_part(struct walk *w)
{
	int end, i;

	for (i = 0; i < PART; i++) {
		end = run_briefs(w);
		if (end == RUN_OUT)
			return OW_END_OUTERMOST;
		if (end == RUN_ON)
			continue;
		end = walk_step(w);
		if (end)
			return end;
	}
	return 0;
}

/* The walk lacks a register that was not restored: again, from the start. */
static __always_inline bool walk_again(struct walk *w)
{
	w->careful = w->end == OW_END_UNKNOWN && w->forgot;
	return w->careful;
}

static __always_inline void walk_begin(struct walk *w)
{
	w->nr = 0;
	w->mark_at = 0;
	w->cold = 0;
	w->evicted = 0;
	w->range.start = w->range.end = 0;
	w->forgot = 0;
	w->guessed = 0;
	w->last = 0;
}

/*
 * All frames of a program whose registers are in w->reg.  Bounded loops around
 * functions that are verified by themselves: nothing newer than Linux 5.13.
 */
static __always_inline void walk_run(struct walk *w)
{
	int end = 0, i;

	walk_begin(w);
	w->window.size = 0;
	w->window.start = 0;
	if (w->max == 0) {
		w->end = OW_END_LIMIT;
		return;
	}
	push_frame(w, OW_HOW_REGS, 0);
	for (i = 0; i <= OW_BPF_FRAMES / PART && !end; i++)
		end = walk_part(w);
	w->end = end ? end : OW_END_LIMIT;
}

#endif /* OW_BPF_WALK_H */
