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
