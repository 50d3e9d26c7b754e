/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The code that a signal's handler returns to, told by itself: what has no CFI
 * (musl's), or none at hand.
 */
#ifndef OW_TRAMPOLINE_H
#define OW_TRAMPOLINE_H

#include "step.h"

/*
 * Does the stack's window say that a signal frame may be at sp?  unsure is for
 * where the architecture has no mark, or the window not that word.
 */
bool ow_trampoline_marked(struct ow_step *s, const struct ow_regs *regs,
			  bool unsure);

/*
 * The row of the signal frame, if pc is where a trampoline begins, or behind its
 * system call: there only if pc was not returned to (is_return).
 */
bool ow_trampoline_row(struct ow_step *s, const struct ow_regs *regs,
		       bool is_return, struct ow_row *row);

#endif /* OW_TRAMPOLINE_H */
