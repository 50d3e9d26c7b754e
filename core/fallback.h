/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Rows where no unwind data tells of a pc. */
#ifndef OW_FALLBACK_H
#define OW_FALLBACK_H

#include "step.h"

/*
 * The row for regs, which are those of the last frame found, and range, the
 * mapping that its pc is in or NULL: the kernel's trampoline; a call to where no
 * code is, innermost; or the frame pointer, where it can be one.  rules holds
 * OW_MAX_REGS.  Return 0, -OW_ENOENT or -OW_EUNKNOWN; row is changed anyway.
 */
int ow_fallback_row(struct ow_step *s, const struct ow_regs *regs,
		    const struct ow_frame *last, const struct ow_range *range,
		    struct ow_row *row, struct ow_rule *rules);

/*
 * Return true if regs, to which row led by a guess, can be a caller's.  range is
 * the mapping of the byte before its pc, or NULL.  The pc has to follow a call,
 * or to be where a signal's handler returns to.  A frame record whose frame
 * pointer is zero is a thread's first one: nothing has called its pc.  Code that
 * can't be read doesn't speak against a caller.
 */
bool ow_fallback_may_call(struct ow_step *s, const struct ow_row *row,
			  const struct ow_regs *regs,
			  const struct ow_range *range);

#endif /* OW_FALLBACK_H */
