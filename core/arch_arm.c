// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * 32-bit Arm, by frame pointer only: its ELF objects have tables of their own
 * kind (.ARM.exidx) in place of CFI, and so none is taken for an object.
 * AAPCS32 6.1.1 (callee-saved); DWARF for the Arm architecture, table 1.
 */
#include "arch.h"

enum {
	R11 = 11,
	SP = 13,
	LR = 14,
	PC = 15,
	NR_REGS = 16
};

static const uint8_t slots[NR_REGS] = {
	0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, R11, 12, SP, LR, PC,
};

static const char *const names[NR_REGS] = {
	"r0", "r1", "r2",  "r3",  "r4",  "r5", "r6", "r7",
	"r8", "r9", "r10", "r11", "r12", "sp", "lr", "pc",
};

const struct ow_arch ow_arch_arm = {
	.name = "arm",
	.machine = 40, /* EM_ARM */
	.word = 4,
	.nr_regs = NR_REGS,
	.pc = PC,
	.sp = SP,
	.fp = R11,
	.fp_above = 4, /* GCC: push {fp, lr}; add fp, sp, #4 */
	.ra = LR,
	.callee_saved = 0x2ff0, /* r4-r11, sp */
	.pc_mask = 0xfffffffe,  /* bit 0: of Thumb code */
	.slots = slots,
	.nr_slots = NR_REGS,
	.names = names,
};
