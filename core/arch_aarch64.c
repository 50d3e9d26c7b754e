// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* DWARF for the Arm 64-bit Architecture, table 4.1; AAPCS64 6.1. */
#include "arch.h"

enum {
	X0 = 0,
	X19 = 19,
	X29 = 29,
	X30 = 30,
	SP = 31,
	PC = 32,
	RA_SIGN_STATE = 33,
	D8 = 34, /* to D15 at 41: the low halves of v8-v15 are callee-saved */
	NR_REGS = 42
};

#define BITS(first, last) (((uint64_t)2 << (last)) - ((uint64_t)1 << (first)))
#define NONE              OW_SLOT_NONE
#define NONE8             NONE, NONE, NONE, NONE, NONE, NONE, NONE, NONE

static const uint8_t slots[] = {
	0,      1,      2,      3,      4,      5,      6,
	7,      8,      9,      10,     11,     12,     13,
	14,     15,     16,     17,     18,     19,     20,
	21,     22,     23,     24,     25,     26,     27,
	28,     X29,    X30,    SP,     PC,     NONE,   RA_SIGN_STATE,
	NONE,   NONE,   NONE,   NONE,   NONE, /* 32-39 */
	NONE8,  NONE8,  NONE8,                /* 40-63 */
	NONE8,                                /* v0-v7 */
	D8,     D8 + 1, D8 + 2, D8 + 3, D8 + 4, D8 + 5, D8 + 6,
	D8 + 7,
};

static const char *const names[NR_REGS] = {
	"x0",  "x1",
	"x2",  "x3",
	"x4",  "x5",
	"x6",  "x7",
	"x8",  "x9",
	"x10", "x11",
	"x12", "x13",
	"x14", "x15",
	"x16", "x17",
	"x18", "x19",
	"x20", "x21",
	"x22", "x23",
	"x24", "x25",
	"x26", "x27",
	"x28", "x29",
	"x30", "sp",
	"pc",  "ra_sign_state",
	"d8",  "d9",
	"d10", "d11",
	"d12", "d13",
	"d14", "d15",
};

/*
 * sp is at struct rt_sigframe: siginfo (128 bytes), then struct ucontext, whose
 * uc_mcontext is at 176: fault_address, x0-x30, sp, pc (Linux,
 * arch/arm64/include/uapi/asm/{ucontext,sigcontext}.h).
 */
#define MC(n) (128 + 176 + 8 + 8 * (n))
#define STORED(slot)                               \
	{                                          \
		slot, OW_RULE_AT_REG, SP, MC(slot) \
	}

static const struct ow_rule stored[] = {
	STORED(0),  STORED(1),  STORED(2),  STORED(3),  STORED(4),  STORED(5),
	STORED(6),  STORED(7),  STORED(8),  STORED(9),  STORED(10), STORED(11),
	STORED(12), STORED(13), STORED(14), STORED(15), STORED(16), STORED(17),
	STORED(18), STORED(19), STORED(20), STORED(21), STORED(22), STORED(23),
	STORED(24), STORED(25), STORED(26), STORED(27), STORED(28), STORED(29),
	STORED(30), STORED(PC),
};

/* mov x8,#__NR_rt_sigreturn; svc #0 */
static const uint8_t rt_sigreturn[] = {
	0x68, 0x11, 0x80, 0xd2, 0x01, 0x00, 0x00, 0xd4,
};

static const struct ow_sigframe sigframes[] = {
	{ rt_sigreturn, sizeof(rt_sigreturn), OW_ARRAY_SIZE(stored), stored,
	  MC(SP), 0, 0, 0 },
};

/*
 * BL; BLR and those that authenticate: BLRAA, BLRAB, BLRAAZ, BLRABZ (Arm ARM,
 * DDI 0487, C4.1, "Branches").
 */
static bool ends_with_call(const uint8_t *end, size_t size)
{
	const uint8_t *at = end - 4;
	uint32_t insn;

	if (size < 4)
		return false;
	insn = (uint32_t)at[3] << 24 | (uint32_t)at[2] << 16 |
	       (uint32_t)at[1] << 8 | at[0];
	return (insn & 0xfc000000) == 0x94000000 ||
	       (insn & 0xfffffc1f) == 0xd63f0000 ||
	       (insn & 0xfefff800) == 0xd63f0800;
}

const struct ow_arch ow_arch_aarch64 = {
	.name = "aarch64",
	.machine = 183, /* EM_AARCH64 */
	.word = 8,
	.nr_regs = NR_REGS,
	.pc = PC,
	.sp = SP,
	.fp = X29,
	.ra = X30,
	/* x30 too: a leaf keeps its return address there. */
	.callee_saved = BITS(X19, SP) | BITS(D8, D8 + 7),
	/* 48-bit addresses: bits 48-54 and 56-63 may hold a PAC (ARM DDI 0487,
	   D8.8).  A target with another mask overrides it. */
	.pc_mask = ((uint64_t)1 << 48) - 1,
	.pc_half = (uint64_t)1 << 55,
	.slots = slots,
	.nr_slots = OW_ARRAY_SIZE(slots),
	.names = names,
	.sigframes = sigframes,
	.nr_sigframes = OW_ARRAY_SIZE(sigframes),
	.ends_with_call = ends_with_call,
	.call_size = 4,
};
