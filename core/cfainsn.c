// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#include "cfainsn.h"

#include "cie.h"
#include "encoding.h"
#include "err.h"

/*
 * The operands of each opcode, one letter each: r register, s second register,
 * o offset, f factored offset, F factored signed offset, 1 2 4 code delta of
 * that size, b block, n factored offset to be subtracted, L an address as the
 * FDE's own are encoded.
 */
static const char *const operands[64] = {
	[OW_CFA_nop] = "",
	[OW_CFA_set_loc] = "L",
	[OW_CFA_advance_loc1] = "1",
	[OW_CFA_advance_loc2] = "2",
	[OW_CFA_advance_loc4] = "4",
	[OW_CFA_offset_extended] = "rf",
	[OW_CFA_restore_extended] = "r",
	[OW_CFA_undefined] = "r",
	[OW_CFA_same_value] = "r",
	[OW_CFA_register] = "rs",
	[OW_CFA_remember_state] = "",
	[OW_CFA_restore_state] = "",
	[OW_CFA_def_cfa] = "ro",
	[OW_CFA_def_cfa_register] = "r",
	[OW_CFA_def_cfa_offset] = "o",
	[OW_CFA_def_cfa_expression] = "b",
	[OW_CFA_expression] = "rb",
	[OW_CFA_offset_extended_sf] = "rF",
	[OW_CFA_def_cfa_sf] = "rF",
	[OW_CFA_def_cfa_offset_sf] = "F",
	[OW_CFA_val_offset] = "rf",
	[OW_CFA_val_offset_sf] = "rF",
	[OW_CFA_val_expression] = "rb",
	[OW_CFA_AARCH64_negate_ra_state_with_pc] = "",
	[OW_CFA_AARCH64_negate_ra_state] = "",
	[OW_CFA_GNU_args_size] = "o",
	[OW_CFA_GNU_negative_offset_extended] = "rn",
};

static void decode_block(struct ow_cfa_insn *in, struct ow_cursor *c,
			 const struct ow_cie *cie)
{
	uint64_t at = c->pos - cie->section;

	ow_cursor_skip(c, ow_cursor_uleb(c));
	/* A section whose offsets don't fit a rule is refused. */
	if (at > INT32_MAX)
		c->bad = true;
	in->block = (int32_t)at;
}

static void decode_operand(struct ow_cfa_insn *in, char kind,
			   struct ow_cursor *c, const struct ow_cie *cie)
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

int ow_cfa_decode(struct ow_cfa_insn *in, struct ow_cursor *c,
		  const struct ow_cie *cie)
{
	uint8_t byte = ow_cursor_u8(c);
	uint8_t low = byte & 0x3f;
	const char *kind;

	*in = (struct ow_cfa_insn){ .op = byte & 0xc0, .reg = low };
	if (in->op == OW_CFA_advance_loc) {
		in->off = low * cie->code_align;
	} else if (in->op == OW_CFA_offset) {
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
