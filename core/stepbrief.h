/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The step that most frames take; within the loop along cached rows.  What reads
 * a word of the stack is given to it: the words lie in our memory already, or in
 * pages that may be missing.
 */
#ifndef OW_STEPBRIEF_H
#define OW_STEPBRIEF_H

#include "arch.h"
#include "step.h"

/* Read a word of a window's bytes; false if it isn't there. */
typedef bool ow_word_fn(const uint8_t *at, uint64_t *ret);

/* All of the window is there.  Not what a kernel makes of memcpy(). */
OW_TEMPLATE bool ow_word_there(const uint8_t *at, uint64_t *ret)
{
	__builtin_memcpy(ret, at, sizeof(*ret));
	return true;
}

/* Where a save is, behind whose bytes the CFA is. */
static inline const uint8_t *ow_word_up(const uint8_t *cfa, uint8_t up)
{
	return cfa + 8 * (size_t)up - 8 * OW_BRIEF_LOWEST;
}

/* Who called. */
struct ow_caller {
	uint64_t pc, sp;
};

enum ow_stepped {
	OW_STEP_OTHER, /* regs are unchanged: ow_step() has to look at it */
	OW_STEP_TAKEN,
	OW_STEP_TORN, /* a page went that was there just before; so did regs */
};

OW_TEMPLATE bool ow_brief_restore(struct ow_regs *regs,
				  const struct ow_brief *b, unsigned int i,
				  const uint8_t *cfa, ow_word_fn *word)
{
	return word(ow_word_up(cfa, b->saves[i].up),
		    &regs->val[b->saves[i].slot]);
}

OW_TEMPLATE bool ow_brief_restore_all(struct ow_regs *regs,
				      const struct ow_brief *b,
				      const uint8_t *cfa, ow_word_fn *word)
{
	unsigned int i;

	/* Without a branch that depends on how many there are. */
#pragma GCC unroll 8
	for (i = 0; i < OW_BRIEF_FEW; i++)
		if (!ow_brief_restore(regs, b, i, cfa, word))
			return false;
	if (b->nr > OW_BRIEF_FEW)
		for (; i < OW_BRIEF_SAVES; i++)
			if (!ow_brief_restore(regs, b, i, cfa, word))
				return false;
	return true;
}

/*
 * ow_step() for a row in brief, in the usual case: all that it needs is in the
 * stack's window, and it leads up the stack to a caller.
 */
OW_TEMPLATE enum ow_stepped
ow_step_brief(const struct ow_step *s, const struct ow_window *stack,
	      ow_word_fn *word, const struct ow_brief *b, struct ow_regs *regs,
	      struct ow_caller *caller)
{
	const struct ow_arch *arch = s->target->arch;
	uint64_t cfa = regs->val[b->cfa_reg] + (int64_t)b->cfa_off;
	uint64_t kept = regs->known & arch->callee_saved;
	uint64_t skip = cfa - stack->start, size = 8u * b->depth;
	const uint8_t *bytes; /* behind those of the frame */
	uint64_t pc, end;

	if (ow_unlikely(b->flags) || ow_unlikely(arch->word != 8) ||
	    ow_unlikely(!ow_regs_known(regs, b->cfa_reg)) ||
	    ow_unlikely(cfa <= regs->val[arch->sp]) ||
	    ow_unlikely(skip > stack->size) || ow_unlikely(skip < size))
		return OW_STEP_OTHER;
	bytes = stack->bytes + ow_index(skip, stack->size + 1);
	/* Both ends first: what lies between is on no other page. */
	if (!word(bytes - size, &end) || !word(bytes - 8, &end))
		return OW_STEP_OTHER;
	if (ow_unlikely(b->ra_up == OW_BRIEF_NO_SAVE)) {
		if (!(kept >> b->ra & 1))
			return OW_STEP_OTHER;
		pc = regs->val[b->ra];
	} else if (!word(ow_word_up(bytes, b->ra_up), &pc)) {
		return OW_STEP_OTHER;
	}
	pc = ow_arch_code(arch, s->pc_mask, pc);
	if (pc == 0)
		return OW_STEP_OTHER;
	if (!ow_brief_restore_all(regs, b, bytes, word))
		return OW_STEP_TORN;
	regs->val[arch->sp] = caller->sp = cfa;
	regs->val[arch->pc] = caller->pc = pc;
	regs->known = kept | b->known;
	return OW_STEP_TAKEN;
}

#endif /* OW_STEPBRIEF_H */
