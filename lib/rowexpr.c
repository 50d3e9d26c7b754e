// SPDX-License-Identifier: BSD-2-Clause
#include "rowexpr.h"

#include "cursor.h"

/* DWARF 5, table 7.9. */
enum {
	DW_OP_deref = 0x06,
	DW_OP_plus = 0x22,
	DW_OP_plus_uconst = 0x23,
	DW_OP_lit0 = 0x30,
	DW_OP_lit31 = 0x4f,
	DW_OP_breg0 = 0x70,
	DW_OP_breg31 = 0x8f,
};

bool ow_rowexpr_of(const struct ow_row *row, const struct ow_rule *rule,
		   struct ow_rowexpr *ret)
{
	struct ow_cursor c = { row->exprs, row->exprs + row->exprs_size,
			       false };

	if (!row->exprs)
		return false;
	ow_cursor_skip(&c, (uint32_t)rule->off);
	ret->whole = c.pos;
	ret->size = ow_cursor_uleb(&c);
	ret->code = ow_cursor_skip(&c, ret->size);
	return !c.bad;
}

/* What the last operations of an expression add; false: they do something else. */
static bool read_sum(struct ow_cursor *c, uint64_t *ret)
{
	uint8_t op = ow_cursor_u8(c);

	if (op == DW_OP_plus_uconst)
		*ret = ow_cursor_uleb(c);
	else
		*ret = op - DW_OP_lit0;
	return op == DW_OP_plus_uconst ||
	       (op >= DW_OP_lit0 && op <= DW_OP_lit31 &&
		ow_cursor_u8(c) == DW_OP_plus);
}

bool ow_rowexpr_plain(const struct ow_arch *arch, const struct ow_rowexpr *e,
		      struct ow_plainexpr *ret)
{
	struct ow_cursor c = { e->code, e->code + e->size, false };
	uint8_t op = ow_cursor_u8(&c);
	int64_t off = ow_cursor_sleb(&c);
	uint64_t add = 0;

	if (c.bad || op < DW_OP_breg0 || op > DW_OP_breg31 ||
	    off != (int32_t)off)
		return false;
	ret->reg = ow_arch_slot(arch, op - DW_OP_breg0);
	ret->off = (int32_t)off;
	ret->deref = ow_cursor_more(&c);
	if (ret->deref && ow_cursor_u8(&c) != DW_OP_deref)
		return false;
	if (ow_cursor_more(&c) && !read_sum(&c, &add))
		return false;
	ret->add = (int32_t)add;
	return !c.bad && !ow_cursor_more(&c) && add <= INT32_MAX &&
	       ret->reg != OW_SLOT_NONE;
}

/* Is what an expression says the word so far from sp? */
static bool is_at_sp(const struct ow_arch *arch, const struct ow_row *row,
		     const struct ow_rule *rule, int32_t off)
{
	bool is_value = rule->kind == OW_RULE_IS_EXPR;
	struct ow_plainexpr plain;
	struct ow_rowexpr e;

	return (is_value || rule->kind == OW_RULE_AT_EXPR) &&
	       ow_rowexpr_of(row, rule, &e) &&
	       ow_rowexpr_plain(arch, &e, &plain) && plain.reg == arch->sp &&
	       plain.off == off && plain.deref == is_value && !plain.add;
}

/* Is the register where the kernel stores it? */
static bool is_stored(const struct ow_arch *arch, const struct ow_row *row,
		      const struct ow_rule *rule)
{
	const struct ow_sigframe *sf = arch->sigframes;
	unsigned int i;

	if (rule->slot == arch->sp)
		return is_at_sp(arch, row, rule, sf->sp_off);
	for (i = 0; i < sf->nr; i++)
		if (sf->rules[i].slot == rule->slot)
			return is_at_sp(arch, row, rule, sf->rules[i].off);
	return false;
}

bool ow_row_is_sigframe(const struct ow_arch *arch, const struct ow_row *row)
{
	const struct ow_sigframe *sf = arch->sigframes;
	const struct ow_rule *rule = row->rules, *end = rule + row->nr;
	unsigned int found = 0;

	if (row->flags != OW_ROW_SIGNAL || row->ra != arch->pc ||
	    !is_at_sp(arch, row, &row->cfa, sf->sp_off))
		return false;
	for (; rule < end; rule++) {
		if (!is_stored(arch, row, rule))
			return false;
		found += rule->slot != arch->sp;
	}
	return found == sf->nr;
}
