/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Walks for the module's own use, beside those in kunwind.h. */
#ifndef KW_WALK_H
#define KW_WALK_H

#include <linux/ptrace.h>

#include "ow_frame.h"

/*
 * Hand over the program counters of current's user stack, innermost first, until
 * each() returns false; as kunwind_user_pcs() otherwise.
 */
int kw_walk_each(struct pt_regs *regs, unsigned int max,
		 bool (*each)(void *arg, u64 pc), void *arg, enum ow_end *end);

#endif /* KW_WALK_H */
