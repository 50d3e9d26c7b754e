// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#include "trampoline.h"

bool ow_trampoline_marked(struct ow_step *s, const struct ow_regs *regs,
			  bool unsure)
{
	const struct ow_arch *arch = s->target->arch;
	const struct ow_sigframe *sf = arch->sigframes;
	const struct ow_sigframe *end = sf + arch->nr_sigframes;
	uint64_t sp = regs->val[arch->sp];
	bool may_be = false;

	for (; sf < end; sf++) {
		if (!sf->mark_bits ||
		    !ow_step_peek(s, sp + (int64_t)sf->mark_off, &s->word))
			may_be |= unsure;
		else
			may_be |= (s->word & sf->mark_bits) == sf->mark;
	}
	return may_be;
}

/*
 * The trampoline has called the kernel, which is about to restore registers:
 * what a signal frame stores is still to come.  Told by the code in front of pc
 * and by the frame that is there yet.
 */
OW_APART bool returning_row(struct ow_step *s, const struct ow_regs *regs,
			    struct ow_row *row)
{
	const struct ow_target *t = s->target;
	const struct ow_sigframe *sf = t->arch->sigframes;
	uint64_t sp = regs->val[t->arch->sp], pc = regs->val[t->arch->pc];
	size_t i;

	for (i = 0; i < t->arch->nr_sigframes; i++, sf++) {
		if (!sf->mark_bits ||
		    ow_step_word(s, sp + (int64_t)sf->mark_off, &s->word) ||
		    (s->word & sf->mark_bits) != sf->mark ||
		    t->mem.read(&t->mem, pc - sf->code_size, s->code,
				sf->code_size))
			continue;
		if (ow_arch_signal_row(t->arch, s->code, sf->code_size, row))
			return true;
	}
	return false;
}

bool ow_trampoline_row(struct ow_step *s, const struct ow_regs *regs,
		       bool is_return, struct ow_row *row)
{
	const struct ow_target *t = s->target;
	uint64_t pc = regs->val[t->arch->pc];
	size_t size = sizeof(s->code);
	size_t i;

	/* Fewer bytes may be left in the mapping; the longest code is first. */
	for (i = 0; t->mem.read(&t->mem, pc, s->code, size); i++) {
		if (i == t->arch->nr_sigframes)
			return !is_return && returning_row(s, regs, row);
		size = t->arch->sigframes[i].code_size;
	}
	return ow_arch_signal_row(t->arch, s->code, size, row) ||
	       (!is_return && returning_row(s, regs, row));
}
