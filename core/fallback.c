// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#include "fallback.h"

#include "err.h"
#include "trampoline.h"

#define START_SIZE 64 /* bytes of the code at a program's entry point */

/*
 * Does a frame pointer of zero mean that there is no caller (x86-64 psABI
 * 3.4.1)?  Code that never touches it may run with what the program started
 * with: only where a chain of frame pointers led here, or where programs start,
 * is it to be believed.
 */
static bool is_outermost(const struct ow_frame *last,
			 const struct ow_range *range)
{
	const struct ow_module *m = range->module;

	if (last->how == OW_HOW_FP)
		return true;
	return m && m->entry && last->flags & OW_FRAME_RETURN &&
	       last->pc - m->bias - m->entry < START_SIZE;
}

int ow_fallback_row(struct ow_step *s, const struct ow_regs *regs,
		    const struct ow_frame *last, const struct ow_range *range,
		    struct ow_row *row, struct ow_rule *rules)
{
	const struct ow_arch *arch = s->target->arch;
	bool is_return = last->flags & OW_FRAME_RETURN;
	uint64_t fp = regs->val[arch->fp];

	if (range && ow_trampoline_row(s, regs, is_return, row))
		return 0;
	if (!range) {
		if (is_return || s->target->has_gaps)
			return -OW_ENOENT;
		ow_arch_call_row(arch, row, rules);
		return 0;
	}
	ow_arch_fp_row(arch, row, rules);
	if (!ow_regs_known(regs, arch->fp))
		return -OW_EUNKNOWN;
	if (fp == 0 && is_outermost(last, range))
		row->flags |= OW_ROW_OUTERMOST;
	else if (fp == 0 || fp & (arch->word - 1) ||
		 (ow_regs_known(regs, arch->sp) && fp < regs->val[arch->sp]))
		return -OW_ENOENT;
	return 0;
}

/* Return true if a call ends at pc, or if that can't be told. */
static bool follows_call(struct ow_step *s, uint64_t pc,
			 const struct ow_range *range)
{
	const struct ow_target *t = s->target;
	uint64_t size = pc - range->start;

	if (!t->arch->ends_with_call)
		return true;
	if (size > t->arch->call_size)
		size = t->arch->call_size;
	return t->mem.read(&t->mem, pc - size, s->code, size) ||
	       t->arch->ends_with_call(s->code + size, size);
}

/* Return true if a signal's handler returns to pc. */
static bool is_trampoline(struct ow_step *s, const struct ow_regs *regs)
{
	return ow_trampoline_row(s, regs, true, &s->row);
}

bool ow_fallback_may_call(struct ow_step *s, const struct ow_row *row,
			  const struct ow_regs *regs,
			  const struct ow_range *range)
{
	const struct ow_arch *arch = s->target->arch;

	if (!range)
		return false;
	if (row->how == OW_HOW_FP && regs->val[arch->fp] == 0)
		return true;
	return follows_call(s, regs->val[arch->pc], range) ||
	       is_trampoline(s, regs);
}
