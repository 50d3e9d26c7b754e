// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#include "trampoline.h"

#define CODE_SIZE 16

bool ow_trampoline_marked(const struct ow_step *s, const struct ow_regs *regs,
			  bool unsure)
{
	const struct ow_arch *arch = s->target->arch;
	const struct ow_sigframe *sf = arch->sigframes;
	uint64_t sp = regs->val[arch->sp], word;
	bool may_be = false;
	size_t i;

	for (i = 0; i < arch->nr_sigframes; i++, sf++) {
		if (!sf->mark_bits ||
		    !ow_step_peek(s, sp + (int64_t)sf->mark_off, &word))
			may_be |= unsure;
		else
			may_be |= (word & sf->mark_bits) == sf->mark;
	}
	return may_be;
}

/*
 * The trampoline has called the kernel, which is about to restore registers:
 * what a signal frame stores is still to come.  Told by the code in front of pc
 * and by the frame that is there yet.
 */
static bool returning_row(struct ow_step *s, const struct ow_regs *regs,
			  struct ow_row *row)
{
	const struct ow_target *t = s->target;
	const struct ow_sigframe *sf = t->arch->sigframes;
	uint64_t sp = regs->val[t->arch->sp], pc = regs->val[t->arch->pc], word;
	uint8_t code[CODE_SIZE];
	size_t i;

	for (i = 0; i < t->arch->nr_sigframes; i++, sf++) {
		if (!sf->mark_bits ||
		    ow_step_word(s, sp + (int64_t)sf->mark_off, &word) ||
		    (word & sf->mark_bits) != sf->mark ||
		    t->mem.read(&t->mem, pc - sf->code_size, code,
				sf->code_size))
			continue;
		if (ow_arch_signal_row(t->arch, code, sf->code_size, row))
			return true;
	}
	return false;
}

bool ow_trampoline_row(struct ow_step *s, const struct ow_regs *regs,
		       bool is_return, struct ow_row *row)
{
	const struct ow_target *t = s->target;
	uint64_t pc = regs->val[t->arch->pc];
	uint8_t code[CODE_SIZE];
	size_t size = sizeof(code);
	size_t i;

	/* Fewer bytes may be left in the mapping; the longest code is first. */
	for (i = 0; t->mem.read(&t->mem, pc, code, size); i++) {
		if (i == t->arch->nr_sigframes)
			return !is_return && returning_row(s, regs, row);
		size = t->arch->sigframes[i].code_size;
	}
	return ow_arch_signal_row(t->arch, code, size, row) ||
	       (!is_return && returning_row(s, regs, row));
}
