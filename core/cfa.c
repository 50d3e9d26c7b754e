// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#include "cfa.h"

#include "encoding.h"
#include "err.h"

/* DWARF 5, table 7.29.  The first three carry an operand in their low bits. */
enum {
	CFA_advance_loc = 0x40,
	CFA_offset = 0x80,
	CFA_restore = 0xc0,
	CFA_nop = 0x00,
	CFA_set_loc = 0x01,
	CFA_advance_loc1 = 0x02,
	CFA_advance_loc2 = 0x03,
	CFA_advance_loc4 = 0x04,
	CFA_offset_extended = 0x05,
	CFA_restore_extended = 0x06,
	CFA_undefined = 0x07,
	CFA_same_value = 0x08,
	CFA_register = 0x09,
	CFA_remember_state = 0x0a,
	CFA_restore_state = 0x0b,
	CFA_def_cfa = 0x0c,
	CFA_def_cfa_register = 0x0d,
	CFA_def_cfa_offset = 0x0e,
	CFA_def_cfa_expression = 0x0f,
	CFA_expression = 0x10,
	CFA_offset_extended_sf = 0x11,
	CFA_def_cfa_sf = 0x12,
	CFA_def_cfa_offset_sf = 0x13,
	CFA_val_offset = 0x14,
	CFA_val_offset_sf = 0x15,
	CFA_val_expression = 0x16,
	CFA_AARCH64_negate_ra_state_with_pc = 0x2c,
	CFA_AARCH64_negate_ra_state = 0x2d, /* GNU_window_save on SPARC */
	CFA_GNU_args_size = 0x2e,
	CFA_GNU_negative_offset_extended = 0x2f,
};

/*
 * The operands of each opcode, one letter each: r register, s second register,
 * o offset, f factored offset, F factored signed offset, 1 2 4 code delta of
 * that size, b block, n factored offset to be subtracted, L an address as the
 * FDE's own are encoded.
 */
static const char *const operands[64] = {
	[CFA_nop] = "",
	[CFA_set_loc] = "L",
	[CFA_advance_loc1] = "1",
	[CFA_advance_loc2] = "2",
	[CFA_advance_loc4] = "4",
	[CFA_offset_extended] = "rf",
	[CFA_restore_extended] = "r",
	[CFA_undefined] = "r",
	[CFA_same_value] = "r",
	[CFA_register] = "rs",
	[CFA_remember_state] = "",
	[CFA_restore_state] = "",
	[CFA_def_cfa] = "ro",
	[CFA_def_cfa_register] = "r",
	[CFA_def_cfa_offset] = "o",
	[CFA_def_cfa_expression] = "b",
	[CFA_expression] = "rb",
	[CFA_offset_extended_sf] = "rF",
	[CFA_def_cfa_sf] = "rF",
	[CFA_def_cfa_offset_sf] = "F",
	[CFA_val_offset] = "rf",
	[CFA_val_offset_sf] = "rF",
	[CFA_val_expression] = "rb",
	[CFA_AARCH64_negate_ra_state_with_pc] = "",
	[CFA_AARCH64_negate_ra_state] = "",
	[CFA_GNU_args_size] = "o",
	[CFA_GNU_negative_offset_extended] = "rn",
};

struct insn {
	uint8_t op;         /* with the low-bits operand taken out */
	uint64_t reg, reg2; /* DWARF numbers */
	int64_t off;   /* factored already; or a code delta; or an address */
	int32_t block; /* where in the section a block's length stands */
};

static void decode_block(struct insn *in, struct ow_cursor *c,
			 const struct ow_cie *cie)
{
	uint64_t at = c->pos - cie->section;

	ow_cursor_skip(c, ow_cursor_uleb(c));
	/* A section whose offsets don't fit a rule is refused. */
	if (at > INT32_MAX)
		c->bad = true;
	in->block = (int32_t)at;
}

static void decode_operand(struct insn *in, char kind, struct ow_cursor *c,
			   const struct ow_cie *cie)
{
	struct ow_encoding enc = { .enc = cie->fde_enc,
				   .word = cie->arch->word,
				   .text = cie->text,
				   .data = cie->data };

	switch (kind) {
	case 'r': in->reg = ow_cursor_uleb(c); break;
	case 's': in->reg2 = ow_cursor_uleb(c); break;
	case 'o': in->off = ow_cursor_uleb(c); break;
	case 'f': in->off = ow_cursor_uleb(c) * cie->data_align; break;
	case 'n': in->off = -(ow_cursor_uleb(c) * cie->data_align); break;
	case 'F':
		in->off = ow_cursor_sleb(c) * (uint64_t)cie->data_align;
		break;
	case 'b': decode_block(in, c, cie); break;
	case 'L':
		enc.field = cie->section_vaddr + (c->pos - cie->section);
		in->off = ow_encoding_read(&enc, c, NULL);
		break;
	default: in->off = ow_cursor_uint(c, kind - '0') * cie->code_align;
	}
}

static int decode(struct insn *in, struct ow_cursor *c,
		  const struct ow_cie *cie)
{
	uint8_t byte = ow_cursor_u8(c);
	uint8_t low = byte & 0x3f;
	const char *kind;

	*in = (struct insn){ .op = byte & 0xc0, .reg = low };
	if (in->op == CFA_advance_loc) {
		in->off = low * cie->code_align;
	} else if (in->op == CFA_offset) {
		in->off = ow_cursor_uleb(c) * cie->data_align;
	} else if (in->op == 0) {
		in->op = low;
		in->reg = 0;
		if (!operands[low])
			return -OW_EUNSUPPORTED;
		for (kind = operands[low]; *kind; kind++)
			decode_operand(in, *kind, c, cie);
	}
	return c->bad ? -OW_EFORMAT : 0;
}

/* Of the registers, those that something is said of. */
static void copy_state(struct ow_cfa_state *to, const struct ow_cfa_state *from)
{
	unsigned int nr = 0;

	if (from->said)
		nr = 64 - (unsigned int)__builtin_clzll(from->said);
	to->cfa = from->cfa;
	to->cfa_off = from->cfa_off;
	to->said = from->said;
	memcpy(to->reg, from->reg, nr * sizeof(to->reg[0]));
}

static int save(struct ow_cfa *cfa)
{
	if (cfa->nr_saved == OW_CFA_DEPTH)
		return -OW_EUNSUPPORTED;
	copy_state(&cfa->saved[cfa->nr_saved++], &cfa->state);
	return 0;
}

static int restore(struct ow_cfa *cfa)
{
	if (cfa->nr_saved == 0)
		return -OW_EFORMAT;
	copy_state(&cfa->state, &cfa->saved[--cfa->nr_saved]);
	return 0;
}

/* What each instruction that sets a register's rule makes of it. */
static const uint8_t reg_kinds[256] = {
	[CFA_undefined] = OW_RULE_UNDEFINED,
	[CFA_same_value] = OW_RULE_SAME,
	[CFA_register] = OW_RULE_REG,
	[CFA_offset] = OW_RULE_AT_CFA,
	[CFA_offset_extended] = OW_RULE_AT_CFA,
	[CFA_offset_extended_sf] = OW_RULE_AT_CFA,
	[CFA_GNU_negative_offset_extended] = OW_RULE_AT_CFA,
	[CFA_val_offset] = OW_RULE_IS_CFA,
	[CFA_val_offset_sf] = OW_RULE_IS_CFA,
	[CFA_expression] = OW_RULE_AT_EXPR,
	[CFA_val_expression] = OW_RULE_IS_EXPR,
};

static void restore_reg(struct ow_cfa *cfa, uint8_t slot)
{
	uint64_t bit = (uint64_t)1 << slot;

	cfa->state.said = (cfa->state.said & ~bit) | (cfa->initial.said & bit);
	if (cfa->initial.said & bit)
		cfa->state.reg[slot] = cfa->initial.reg[slot];
}

static int apply_reg(struct ow_cfa *cfa, const struct insn *in)
{
	const struct ow_arch *arch = cfa->cie->arch;
	uint8_t slot = ow_arch_slot(arch, in->reg);
	uint8_t kind = reg_kinds[in->op];
	struct ow_rule rule = { slot, kind, 0, (int32_t)in->off };

	if (slot == OW_SLOT_NONE)
		return 0;
	if (in->op == CFA_restore || in->op == CFA_restore_extended) {
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
static int apply_cfa(struct ow_cfa *cfa, const struct insn *in)
{
	struct ow_cfa_state *st = &cfa->state;
	bool has_reg = in->op != CFA_def_cfa_offset &&
		       in->op != CFA_def_cfa_offset_sf;
	bool has_off = in->op != CFA_def_cfa_register;
	uint8_t slot = ow_arch_slot(cfa->cie->arch, in->reg);

	if (in->op == CFA_def_cfa_expression) {
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

static int apply(struct ow_cfa *cfa, const struct insn *in)
{
	switch (in->op) {
	case CFA_nop:
	case CFA_GNU_args_size:
	/* A signed return address is known by its bits: ow_arch.pc_mask. */
	case CFA_AARCH64_negate_ra_state:
	case CFA_AARCH64_negate_ra_state_with_pc: return 0;
	case CFA_remember_state: return save(cfa);
	case CFA_restore_state: return restore(cfa);
	case CFA_def_cfa:
	case CFA_def_cfa_sf:
	case CFA_def_cfa_register:
	case CFA_def_cfa_offset:
	case CFA_def_cfa_offset_sf:
	case CFA_def_cfa_expression: return apply_cfa(cfa, in);
	default: return apply_reg(cfa, in);
	}
}

/*
 * Run up to an instruction that moves on.  Return 1 and where it moves to, 0 at
 * the end of the instructions, or an error.
 */
static int run(struct ow_cfa *cfa, struct ow_cursor *insns, uint64_t *to_ret)
{
	struct insn in;
	int err;

	while (ow_cursor_more(insns)) {
		err = decode(&in, insns, cfa->cie);
		if (err)
			return err;
		switch (in.op) {
		case CFA_advance_loc:
		case CFA_advance_loc1:
		case CFA_advance_loc2:
		case CFA_advance_loc4: *to_ret = cfa->next + in.off; return 1;
		case CFA_set_loc: *to_ret = in.off; return 1;
		default: err = apply(cfa, &in);
		}
		if (err)
			return err;
	}
	return 0;
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
	err = run(cfa, &first, &ignored);
	if (err > 0)
		return -OW_EFORMAT; /* a CIE covers no code */
	copy_state(&cfa->initial, &cfa->state);
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
	copy_state(&cfa->state, &cfa->initial);
}

int ow_cfa_next(struct ow_cfa *cfa)
{
	uint64_t to = 0;
	int more;

	if (cfa->next >= cfa->end)
		return 0;
	cfa->start = cfa->next;
	do {
		more = run(cfa, &cfa->insns, &to);
		if (more < 0)
			return more;
		if (more && to < cfa->start)
			return -OW_EFORMAT;
	} while (more && to == cfa->start);
	cfa->next = more && to < cfa->end ? to : cfa->end;
	return 1;
}

int ow_cfa_seek(struct ow_cfa *cfa, uint64_t vaddr)
{
	int more;

	if (vaddr < cfa->next)
		return -OW_ENOENT;
	do {
		more = ow_cfa_next(cfa);
		if (more <= 0)
			return more ? more : -OW_ENOENT;
	} while (vaddr >= cfa->next);
	return 0;
}

/* Does the row have to speak of it, or is it what the step does anyway? */
static bool worth_saying(const struct ow_arch *arch, const struct ow_rule *rule,
			 uint8_t slot)
{
	bool kept = arch->callee_saved >> slot & 1;

	switch (rule->kind) {
	case OW_RULE_NONE: return false;
	case OW_RULE_SAME: return !kept;
	case OW_RULE_UNDEFINED: return kept;
	default: return true;
	}
}

void ow_cfa_row(const struct ow_cfa *cfa, struct ow_row *row,
		struct ow_rule *rules)
{
	const struct ow_cie *cie = cfa->cie;
	const struct ow_rule *reg = cfa->state.reg;
	uint64_t left = cfa->state.said;
	bool has_ra = left >> cie->ra & 1;
	uint8_t i, nr = 0;

	for (; left; left &= left - 1) {
		i = (uint8_t)__builtin_ctzll(left);
		if (worth_saying(cie->arch, &reg[i], i))
			rules[nr++] = reg[i];
	}
	*row = (struct ow_row){
		.cfa = cfa->state.cfa,
		.nr = nr,
		.flags = (cie->signal_frame ? OW_ROW_SIGNAL : 0) |
			 (has_ra && reg[cie->ra].kind == OW_RULE_UNDEFINED ?
				  OW_ROW_OUTERMOST :
				  0),
		.ra = cie->ra,
		.how = OW_HOW_CFI,
		.exprs = cie->section,
		.exprs_size = cie->section_size > UINT32_MAX ?
				      UINT32_MAX :
				      (uint32_t)cie->section_size,
		.rules = rules,
	};
}
