/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The step that most frames take; within the loop of the walk. */
#ifndef OW_STEPBRIEF_H
#define OW_STEPBRIEF_H

#include "arch.h"
#include "step.h"

static inline uint64_t ow_word_up(const uint8_t *cfa, uint8_t up)
{
	uint64_t value;

	memcpy(&value, cfa + 8 * (size_t)up - 8 * OW_BRIEF_LOWEST,
	       sizeof(value));
	return value;
}

static inline void ow_brief_restore(struct ow_regs *regs,
				    const struct ow_brief *b, unsigned int i,
				    const uint8_t *cfa)
{
	regs->val[b->saves[i].slot] = ow_word_up(cfa, b->saves[i].up);
}

/*
 * ow_step() for a row in brief, in the usual case: all that it needs is in the
 * stack's window, and it leads up the stack to a caller.  Otherwise false, with
 * regs unchanged, and ow_step() has to look at it.
 */
static inline bool ow_step_brief(const struct ow_step *s,
				 const struct ow_brief *b, struct ow_regs *regs)
{
	const struct ow_arch *arch = s->target->arch;
	uint64_t cfa = regs->val[b->cfa_reg] + (int64_t)b->cfa_off;
	uint64_t known = (regs->known & arch->callee_saved) | b->saved;
	uint64_t skip = cfa - s->stack.start, size = 8u * b->depth;
	const uint8_t *bytes; /* behind those of the frame */
	unsigned int i;
	uint64_t pc;

	if (b->flags || arch->word != 8 || !ow_regs_known(regs, b->cfa_reg) ||
	    cfa <= regs->val[arch->sp] || skip > s->stack.size || skip < size ||
	    !(known >> b->ra & 1))
		return false;
	bytes = s->stack.bytes + skip;
	pc = b->ra_up == OW_BRIEF_NO_SAVE ? regs->val[b->ra] :
					    ow_word_up(bytes, b->ra_up);
	pc = ow_arch_code(arch, s->pc_mask, pc);
	if (pc == 0)
		return false;
		/* Without a branch that depends on how many there are. */
#pragma GCC unroll 8
	for (i = 0; i < OW_BRIEF_FEW; i++)
		ow_brief_restore(regs, b, i, bytes);
	if (b->nr > OW_BRIEF_FEW)
		for (; i < OW_BRIEF_SAVES; i++)
			ow_brief_restore(regs, b, i, bytes);
	regs->val[arch->sp] = cfa;
	regs->val[arch->pc] = pc;
	regs->known = known | (uint64_t)1 << arch->sp | (uint64_t)1 << arch->pc;
	return true;
}

#endif /* OW_STEPBRIEF_H */
