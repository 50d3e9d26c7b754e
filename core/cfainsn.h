/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* One call frame instruction (DWARF 5, 6.4.2 and 7.24). */
#ifndef OW_CFAINSN_H
#define OW_CFAINSN_H

#include "cursor.h"

struct ow_cie;

/* DWARF 5, table 7.29.  The first three carry an operand in their low bits. */
enum ow_cfa_op {
	OW_CFA_advance_loc = 0x40,
	OW_CFA_offset = 0x80,
	OW_CFA_restore = 0xc0,
	OW_CFA_nop = 0x00,
	OW_CFA_set_loc = 0x01,
	OW_CFA_advance_loc1 = 0x02,
	OW_CFA_advance_loc2 = 0x03,
	OW_CFA_advance_loc4 = 0x04,
	OW_CFA_offset_extended = 0x05,
	OW_CFA_restore_extended = 0x06,
	OW_CFA_undefined = 0x07,
	OW_CFA_same_value = 0x08,
	OW_CFA_register = 0x09,
	OW_CFA_remember_state = 0x0a,
	OW_CFA_restore_state = 0x0b,
	OW_CFA_def_cfa = 0x0c,
	OW_CFA_def_cfa_register = 0x0d,
	OW_CFA_def_cfa_offset = 0x0e,
	OW_CFA_def_cfa_expression = 0x0f,
	OW_CFA_expression = 0x10,
	OW_CFA_offset_extended_sf = 0x11,
	OW_CFA_def_cfa_sf = 0x12,
	OW_CFA_def_cfa_offset_sf = 0x13,
	OW_CFA_val_offset = 0x14,
	OW_CFA_val_offset_sf = 0x15,
	OW_CFA_val_expression = 0x16,
	OW_CFA_AARCH64_negate_ra_state_with_pc = 0x2c,
	OW_CFA_AARCH64_negate_ra_state = 0x2d, /* GNU_window_save on SPARC */
	OW_CFA_GNU_args_size = 0x2e,
	OW_CFA_GNU_negative_offset_extended = 0x2f,
};

struct ow_cfa_insn {
	uint8_t op;         /* with the low-bits operand taken out */
	uint64_t reg, reg2; /* DWARF numbers */
	int64_t off;   /* factored already; or a code delta; or an address */
	int32_t block; /* where in the section a block's length stands */
};

/*
 * Read the next instruction, with the CIE's factors.  Return 0; -OW_EUNSUPPORTED
 * for an opcode that isn't known; -OW_EFORMAT if it is cut.
 */
int ow_cfa_decode(struct ow_cfa_insn *in, struct ow_cursor *c,
		  const struct ow_cie *cie);

#endif /* OW_CFAINSN_H */
