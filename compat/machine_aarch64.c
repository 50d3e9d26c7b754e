// SPDX-License-Identifier: BSD-2-Clause
#include "machine.h"

#ifdef __aarch64__

#define X(n) (offsetof(unw_tdep_context_t, uc_mcontext.regs) + 8 * (n))
#define NONE OW_GREG_NONE

static const uint16_t gregs[OW_M_NR] = {
	X(0),  X(1),  X(2),  X(3),  X(4),  X(5),  X(6),  X(7),  X(8),
	X(9),  X(10), X(11), X(12), X(13), X(14), X(15), X(16), X(17),
	X(18), X(19), X(20), X(21), X(22), X(23), X(24), X(25), X(26),
	X(27), X(28), X(29), X(30), X(31), X(32), NONE,  NONE,  NONE,
	NONE,  NONE,  NONE,  NONE,  NONE,  NONE,
};

/* What lies between them has no name. */
static const char *const names[] = {
	"x0",  "x1",  "x2",  "x3",  "x4",  "x5",  "x6",     "x7",  "x8",
	"x9",  "x10", "x11", "x12", "x13", "x14", "x15",    "ip0", "ip1",
	"x18", "x19", "x20", "x21", "x22", "x23", "x24",    "x25", "x26",
	"x27", "x28", "fp",  "lr",  "sp",  "pc",  "pstate",
};

static const uint8_t saved[OW_M_NR_SAVED] = {
	19, 20, 21, 22, 23, 24, 25, 26, 27, 28,
};

/* adrp x16; ldr x17,[x16]; add x16,x16; br x17 */
static bool is_plt(const uint8_t *code)
{
	uint32_t insn[4];

	memcpy(insn, code, sizeof(insn));
	return (insn[0] & 0x9f00001f) == 0x90000010 &&
	       (insn[1] & 0xffc003ff) == 0xf9400211 &&
	       (insn[2] & 0xffc003ff) == 0x91000210 && insn[3] == 0xd61f0220;
}

const struct ow_machine ow_machine = {
	.arch = &ow_arch_aarch64,
	.gregs = gregs,
	.sp = UNW_AARCH64_SP,
	.cfa = UNW_AARCH64_SP,
	.ip = UNW_AARCH64_X30,
	.nr_regs = OW_ARRAY_SIZE(names),
	.names = names,
	.saved = saved,
	.rowless_is_error = true,
	.is_plt = is_plt,
};

#endif
