// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#include "cfa.h"

#include "cfainsn.h"
#include "err.h"

/* Of the registers, those few that something is said of. */
unsigned int ow_cfa_copy_state(struct ow_cfa_state *to,
			       const struct ow_cfa_state *from)
{
	uint64_t left = from->said;
	unsigned int i, nr = 0;

	to->cfa = from->cfa;
	to->cfa_off = from->cfa_off;
	to->said = left;
	for (; left; left &= left - 1, nr++) {
		i = (unsigned int)__builtin_ctzll(left);
		to->reg[i] = from->reg[i];
	}
	return nr;
}

static int save(struct ow_cfa *cfa)
{
	if (cfa->nr_saved == OW_CFA_DEPTH)
		return -OW_EUNSUPPORTED;
	cfa->nr_copied +=
		ow_cfa_copy_state(&cfa->saved[cfa->nr_saved++], &cfa->state);
	return 0;
}

static int restore(struct ow_cfa *cfa)
{
	if (cfa->nr_saved == 0)
		return -OW_EFORMAT;
	cfa->nr_copied +=
		ow_cfa_copy_state(&cfa->state, &cfa->saved[--cfa->nr_saved]);
	return 0;
}

/* What each instruction that sets a register's rule makes of it. */
static const uint8_t reg_kinds[256] = {
	[OW_CFA_undefined] = OW_RULE_UNDEFINED,
	[OW_CFA_same_value] = OW_RULE_SAME,
	[OW_CFA_register] = OW_RULE_REG,
	[OW_CFA_offset] = OW_RULE_AT_CFA,
	[OW_CFA_offset_extended] = OW_RULE_AT_CFA,
	[OW_CFA_offset_extended_sf] = OW_RULE_AT_CFA,
	[OW_CFA_GNU_negative_offset_extended] = OW_RULE_AT_CFA,
	[OW_CFA_val_offset] = OW_RULE_IS_CFA,
	[OW_CFA_val_offset_sf] = OW_RULE_IS_CFA,
	[OW_CFA_expression] = OW_RULE_AT_EXPR,
	[OW_CFA_val_expression] = OW_RULE_IS_EXPR,
};

static void restore_reg(struct ow_cfa *cfa, uint8_t slot)
{
	uint64_t bit = (uint64_t)1 << slot;

	cfa->state.said = (cfa->state.said & ~bit) | (cfa->initial.said & bit);
	if (cfa->initial.said & bit)
		cfa->state.reg[slot] = cfa->initial.reg[slot];
}

static int apply_reg(struct ow_cfa *cfa, const struct ow_cfa_insn *in)
{
	const struct ow_arch *arch = cfa->cie->arch;
	uint8_t slot = ow_arch_slot(arch, in->reg);
	uint8_t kind = reg_kinds[in->op];
	struct ow_rule rule = { slot, kind, 0, (int32_t)in->off };

	if (slot == OW_SLOT_NONE)
		return 0;
	if (in->op == OW_CFA_restore || in->op == OW_CFA_restore_extended) {
		restore_reg(cfa, slot);
		return 0;
	}
	if (kind == OW_RULE_AT_EXPR || kind == OW_RULE_IS_EXPR) {
		rule.off = in->block;
	} else if (in->off != (int32_t)in->off) {
		return -OW_EFORMAT;
	} else if (kind == OW_RULE_REG) {
		rule.reg = ow_arch_slot(arch, in->reg2);
		/* Lost; but an undefined RA would say that the stack ends. */
		if (rule.reg == OW_SLOT_NONE && slot == cfa->cie->ra)
			return -OW_EUNSUPPORTED;
		if (rule.reg == OW_SLOT_NONE)
			rule.kind = OW_RULE_UNDEFINED;
	}
	cfa->state.reg[slot] = rule;
	cfa->state.said |= (uint64_t)1 << slot;
	return 0;
}

/*
 * DWARF lets a register or an offset alone refine only a register rule.  GNU as
 * writes, and libgcc takes, a register after an expression too: the offset is
 * then the one from before (libgcrypt's AES code has this).
 */
static int apply_cfa(struct ow_cfa *cfa, const struct ow_cfa_insn *in)
{
	struct ow_cfa_state *st = &cfa->state;
	bool has_reg = in->op != OW_CFA_def_cfa_offset &&
		       in->op != OW_CFA_def_cfa_offset_sf;
	bool has_off = in->op != OW_CFA_def_cfa_register;
	uint8_t slot = ow_arch_slot(cfa->cie->arch, in->reg);

	if (in->op == OW_CFA_def_cfa_expression) {
		st->cfa = (struct ow_rule){ 0, OW_RULE_IS_EXPR, 0, in->block };
		return 0;
	}
	if (in->off != (int32_t)in->off || (has_reg && slot == OW_SLOT_NONE) ||
	    (!(has_reg && has_off) && st->cfa.kind == OW_RULE_NONE))
		return -OW_EFORMAT;
	if (has_off)
		st->cfa_off = (int32_t)in->off;
	if (has_reg)
		st->cfa = (struct ow_rule){ 0, OW_RULE_REG, slot, 0 };
	if (st->cfa.kind == OW_RULE_REG)
		st->cfa.off = st->cfa_off;
	return 0;
}

static int apply(struct ow_cfa *cfa, const struct ow_cfa_insn *in)
{
	switch (in->op) {
	case OW_CFA_nop:
	case OW_CFA_GNU_args_size:
	/* A signed return address is known by its bits: ow_arch.pc_mask. */
	case OW_CFA_AARCH64_negate_ra_state:
	case OW_CFA_AARCH64_negate_ra_state_with_pc: return 0;
	case OW_CFA_remember_state: return save(cfa);
	case OW_CFA_restore_state: return restore(cfa);
	case OW_CFA_def_cfa:
	case OW_CFA_def_cfa_sf:
	case OW_CFA_def_cfa_register:
	case OW_CFA_def_cfa_offset:
	case OW_CFA_def_cfa_offset_sf:
	case OW_CFA_def_cfa_expression: return apply_cfa(cfa, in);
	default: return apply_reg(cfa, in);
	}
}

/* CFA = register + offset, in a byte each. */
static bool set_cfa(struct ow_cfa *cfa, uint8_t reg, int32_t off)
{
	uint8_t slot = ow_arch_slot(cfa->cie->arch, reg);

	if (slot == OW_SLOT_NONE)
		return false;
	cfa->state.cfa = (struct ow_rule){ 0, OW_RULE_REG, slot, off };
	cfa->state.cfa_off = off;
	return true;
}

static bool set_saved(struct ow_cfa *cfa, uint8_t reg, uint8_t factored)
{
	int64_t off = (int64_t)(factored * (uint64_t)cfa->cie->data_align);
	uint8_t slot = ow_arch_slot(cfa->cie->arch, reg);

	if (slot == OW_SLOT_NONE || off != (int32_t)off)
		return false;
	cfa->state.reg[slot] =
		(struct ow_rule){ slot, OW_RULE_AT_CFA, 0, (int32_t)off };
	cfa->state.said |= (uint64_t)1 << slot;
	return true;
}

/*
 * Run one of the instructions that compilers write most, with operands of a
 * byte: op, at that place.  Return its size; or 0 for any other one, and nothing
 * has changed.
 */
static inline unsigned int run_usual(struct ow_cfa *cfa, uint8_t op,
				     const uint8_t *at, const uint8_t *end)
{
	struct ow_cfa_state *st = &cfa->state;
	uint8_t first;

	if (end - at < 3)
		return op == OW_CFA_nop ? 1 : 0;
	first = at[1];
	ow_keep(first);
	if ((op & 0xc0) == OW_CFA_offset)
		return first < 0x80 && set_saved(cfa, op & 0x3f, first) ? 2 : 0;
	switch (op) {
	case OW_CFA_nop: return 1;
	case OW_CFA_remember_state: return save(cfa) ? 0 : 1;
	case OW_CFA_restore_state: return restore(cfa) ? 0 : 1;
	case OW_CFA_def_cfa:
		return first < 0x80 && at[2] < 0x80 &&
				       set_cfa(cfa, first, at[2]) ?
			       3 :
			       0;
	case OW_CFA_def_cfa_register:
		return first < 0x80 && st->cfa.kind == OW_RULE_REG &&
				       set_cfa(cfa, first, st->cfa_off) ?
			       2 :
			       0;
	case OW_CFA_def_cfa_offset:
		if (first >= 0x80 || st->cfa.kind != OW_RULE_REG)
			return 0;
		st->cfa.off = st->cfa_off = first;
		return 2;
	default: return 0;
	}
}

/* Move on; as run() returns, and 0 if it is to go on. */
static int move(struct ow_cfa *cfa, uint64_t to, uint64_t limit,
		uint64_t *to_ret)
{
	if (to >= limit) {
		*to_ret = to;
		return 1;
	}
	if (to < cfa->start)
		return -OW_EFORMAT;
	cfa->start = to;
	return 0;
}

/* Any instruction; returns likewise. */
static int run_any(struct ow_cfa *cfa, struct ow_cursor *insns, uint64_t limit,
		   uint64_t *to_ret)
{
	struct ow_cfa_insn in;
	int err = ow_cfa_decode(&in, insns, cfa->cie);

	if (err)
		return err;
	switch (in.op) {
	case OW_CFA_advance_loc:
	case OW_CFA_advance_loc1:
	case OW_CFA_advance_loc2:
	case OW_CFA_advance_loc4:
		return move(cfa, cfa->start + in.off, limit, to_ret);
	case OW_CFA_set_loc: return move(cfa, in.off, limit, to_ret);
	default: return apply(cfa, &in);
	}
}

/*
 * Run up to an instruction that moves on to limit or beyond; cfa->start is
 * where what has been said so far begins to hold.  Return 1 and where that
 * moves to, 0 at the end of the instructions, or an error.
 */
static int run(struct ow_cfa *cfa, struct ow_cursor *insns, uint64_t limit,
	       uint64_t *to_ret)
{
	uint64_t align = cfa->cie->code_align;
	const uint8_t *at = insns->pos;
	const uint8_t *end = insns->bad ? at : insns->end;
	unsigned int size;
	uint8_t op;
	int more = 0;

	for (; !more && at < end; at += size) {
		op = *at;
		ow_keep(op);
		if ((op & 0xc0) == OW_CFA_advance_loc) {
			more = move(cfa, cfa->start + (op & 0x3f) * align,
				    limit, to_ret);
			size = 1;
			continue;
		}
		if (op == OW_CFA_advance_loc1 && end - at > 1) {
			more = move(cfa, cfa->start + at[1] * align, limit,
				    to_ret);
			size = 2;
			continue;
		}
		size = run_usual(cfa, op, at, end);
		if (size)
			continue;
		insns->pos = at;
		more = run_any(cfa, insns, limit, to_ret);
		at = insns->pos;
	}
	insns->pos = at;
	return more;
}

int ow_cfa_begin(struct ow_cfa *cfa, const struct ow_cie *cie,
		 struct ow_cursor insns, uint64_t start, uint64_t end)
{
	struct ow_cursor first = { cie->insns, cie->insns_end, false };
	uint64_t ignored;
	int err;

	/* A CIE may restore, too, and then there is nothing said yet. */
	cfa->initial.cfa = (struct ow_rule){ 0 };
	cfa->initial.cfa_off = 0;
	cfa->initial.said = 0;
	ow_cfa_begin_again(cfa, cie, insns, start, end);
	err = run(cfa, &first, start, &ignored);
	if (err > 0)
		return -OW_EFORMAT; /* a CIE covers no code */
	ow_cfa_copy_state(&cfa->initial, &cfa->state);
	return err;
}

void ow_cfa_begin_again(struct ow_cfa *cfa, const struct ow_cie *cie,
			struct ow_cursor insns, uint64_t start, uint64_t end)
{
	cfa->cie = cie;
	cfa->insns = insns;
	cfa->start = cfa->next = start;
	cfa->end = end;
	cfa->nr_saved = 0;
	cfa->nr_copied = 0;
	ow_cfa_copy_state(&cfa->state, &cfa->initial);
}

/* Complete the row that is followed by one at limit or beyond. */
static int complete(struct ow_cfa *cfa, uint64_t limit)
{
	uint64_t to;
	int more;

	cfa->start = cfa->next;
	more = run(cfa, &cfa->insns, limit, &to);
	if (more < 0)
		return more;
	cfa->next = more && to < cfa->end ? to : cfa->end;
	return 1;
}

int ow_cfa_next(struct ow_cfa *cfa)
{
	return cfa->next < cfa->end ? complete(cfa, cfa->next + 1) : 0;
}

int ow_cfa_seek(struct ow_cfa *cfa, uint64_t vaddr)
{
	int more;

	if (vaddr < cfa->next || vaddr >= cfa->end)
		return -OW_ENOENT;
	more = complete(cfa, vaddr + 1);
	return more < 0 ? more : 0;
}
