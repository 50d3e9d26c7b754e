// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#include "step.h"

#include "cursor.h"
#include "err.h"

static inline bool peek(const struct ow_step *s, uint64_t addr, uint64_t *ret)
{
	uint8_t word = s->target->arch->word;
	uint64_t skip = addr - s->stack.start;
	uint32_t half;

	if (skip >= s->stack.size || s->stack.size - skip < word)
		return false;
	skip = ow_index(skip, s->stack.size);
	if (word == 8) {
		memcpy(ret, s->stack.bytes + skip, 8);
		return true;
	}
	memcpy(&half, s->stack.bytes + skip, 4);
	*ret = half;
	return true;
}

bool ow_step_peek(const struct ow_step *s, uint64_t addr, uint64_t *ret)
{
	return peek(s, addr, ret);
}

int ow_step_word(struct ow_step *s, uint64_t addr, uint64_t *ret)
{
	const struct ow_target *t = s->target;

	if (peek(s, addr, ret))
		return 0;
	s->fault = addr; /* if it is one */
	return ow_memory_word(&t->mem, addr, t->arch->word, ret);
}

static int run_expr(struct ow_step *s, const struct ow_row *row,
		    const struct ow_rule *rule, const struct ow_regs *regs,
		    bool push, uint64_t *ret)
{
	struct ow_cursor c = { row->exprs, row->exprs, false };
	uint64_t size;
	const uint8_t *code;
	int err;

	if (!row->exprs)
		return -OW_EFORMAT;
	c.end += row->exprs_size;
	ow_cursor_skip(&c, (uint32_t)rule->off);
	size = ow_cursor_uleb(&c);
	code = ow_cursor_skip(&c, size);
	if (!code)
		return -OW_EFORMAT;
	s->expr.arch = s->target->arch;
	s->expr.regs = regs;
	s->expr.mem = &s->target->mem;
	s->expr.bias = row->bias;
	s->expr.has_cfa = push;
	err = ow_expr_run(&s->expr, code, size, push, ret);
	if (err == -OW_EFAULT)
		s->fault = s->expr.fault;
	return err;
}

static int find_cfa(struct ow_step *s, const struct ow_row *row,
		    const struct ow_regs *regs, uint64_t *ret)
{
	const struct ow_rule *cfa = &row->cfa;
	uint64_t mask = ow_arch_mask(s->target->arch);
	uint64_t base;

	if (cfa->kind == OW_RULE_IS_EXPR)
		return run_expr(s, row, cfa, regs, false, ret);
	if (cfa->kind != OW_RULE_REG && cfa->kind != OW_RULE_AT_REG)
		return -OW_EFORMAT;
	if (!ow_regs_known(regs, cfa->reg))
		return -OW_EUNKNOWN;
	base = (regs->val[cfa->reg] + (int64_t)cfa->off) & mask;
	if (cfa->kind == OW_RULE_AT_REG)
		return ow_step_word(s, base, ret);
	*ret = base;
	return 0;
}

/* What the rule says that the register was, in the frame that s->cfa is of. */
OW_APART int find_value(struct ow_step *s, const struct ow_row *row,
			const struct ow_rule *rule, const struct ow_regs *regs,
			uint64_t *ret)
{
	uint64_t mask = ow_arch_mask(s->target->arch);
	uint64_t off = (int64_t)rule->off;
	int err;

	switch (rule->kind) {
	case OW_RULE_AT_CFA: return ow_step_word(s, (s->cfa + off) & mask, ret);
	case OW_RULE_IS_CFA: *ret = (s->cfa + off) & mask; return 0;
	case OW_RULE_SAME: *ret = regs->val[rule->slot]; return 0;
	case OW_RULE_REG: *ret = (regs->val[rule->reg] + off) & mask; return 0;
	case OW_RULE_AT_REG:
		if (!ow_regs_known(regs, rule->reg))
			return -OW_EUNKNOWN;
		return ow_step_word(s, (regs->val[rule->reg] + off) & mask,
				    ret);
	case OW_RULE_IS_EXPR:
	case OW_RULE_AT_EXPR:
		s->expr.cfa = s->cfa;
		err = run_expr(s, row, rule, regs, true, ret);
		if (err || rule->kind == OW_RULE_IS_EXPR)
			return err;
		return ow_step_word(s, *ret, ret);
	default: return -OW_EFORMAT;
	}
}

/* Is the register known afterwards, if the rule could be executed? */
static bool stays_known(const struct ow_rule *rule, const struct ow_regs *regs)
{
	switch (rule->kind) {
	case OW_RULE_UNDEFINED: return false;
	case OW_RULE_SAME: return ow_regs_known(regs, rule->slot);
	case OW_RULE_REG: return ow_regs_known(regs, rule->reg);
	default: return true;
	}
}

/*
 * Where a register was saved can't be told or read: then it is not known, and
 * maybe nobody will ask for it.  Without these two there is no caller.
 */
static bool is_needed(const struct ow_step *s, const struct ow_row *row,
		      const struct ow_rule *rule)
{
	return rule->slot == row->ra || rule->slot == s->target->arch->sp;
}

/* Return 0 if a register may be unknown whose value fails so, or why the step fails. */
static int leave_unknown(struct ow_step *s, int err)
{
	if (err == -OW_EUNKNOWN)
		return 0;
	if (err != -OW_EFAULT)
		return err;
	return ow_expr_take(&s->expr, OW_EXPR_FAULT) ? 0 : -OW_ELIMIT;
}

int ow_step(struct ow_step *s, const struct ow_row *row, struct ow_regs *regs)
{
	const struct ow_arch *arch = s->target->arch;
	uint64_t known = regs->known & arch->callee_saved;
	const struct ow_rule *rule;
	unsigned int i;
	int err;

	s->expr.few = OW_EXPR_FEW;
	s->expr.run_left = s->target->cfi_left;
	err = find_cfa(s, row, regs, &s->cfa);
	if (err)
		return err;
	s->cfa &= ow_arch_mask(arch);
	for (i = 0; i < row->nr; i++) {
		rule = &row->rules[i];
		known &= ~((uint64_t)1 << rule->slot);
		if (!stays_known(rule, regs))
			continue;
		err = find_value(s, row, rule, regs, &s->vals[i]);
		if (!err) {
			known |= (uint64_t)1 << rule->slot;
			continue;
		}
		if (!is_needed(s, row, rule))
			err = leave_unknown(s, err);
		if (err)
			return err;
	}
	if (!(known >> row->ra & 1))
		return -OW_EUNKNOWN;

	arch = s->target->arch;
	regs->val[arch->sp] = s->cfa;
	for (i = 0; i < row->nr; i++)
		if (known >> row->rules[i].slot & 1)
			regs->val[row->rules[i].slot] = s->vals[i];
	regs->val[arch->pc] =
		ow_arch_code(arch, s->pc_mask, regs->val[row->ra]);
	regs->known = known | (uint64_t)1 << arch->sp | (uint64_t)1 << arch->pc;
	return 0;
}
