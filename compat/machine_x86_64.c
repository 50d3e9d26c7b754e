// SPDX-License-Identifier: BSD-2-Clause
#include "machine.h"

#ifdef __x86_64__

/* gregs in the order of DWARF's numbers (glibc, sys/ucontext.h). */
#define GREG(n) (offsetof(ucontext_t, uc_mcontext.gregs) + 8 * (n))

static const uint16_t gregs[OW_M_NR] = {
	GREG(REG_RAX), GREG(REG_RDX), GREG(REG_RCX), GREG(REG_RBX),
	GREG(REG_RSI), GREG(REG_RDI), GREG(REG_RBP), GREG(REG_RSP),
	GREG(REG_R8),  GREG(REG_R9),  GREG(REG_R10), GREG(REG_R11),
	GREG(REG_R12), GREG(REG_R13), GREG(REG_R14), GREG(REG_R15),
	GREG(REG_RIP),
};

static const char *const names[] = {
	"RAX", "RDX", "RCX", "RBX", "RSI", "RDI", "RBP", "RSP", "R8",
	"R9",  "R10", "R11", "R12", "R13", "R14", "R15", "RIP",
};

static const uint8_t saved[OW_M_NR_SAVED] = { 3, 12, 13, 14, 15 };

/* jmp *disp32(%rip); push imm32; jmp rel32 */
static bool is_plt(const uint8_t *code)
{
	return code[0] == 0xff && code[1] == 0x25 && code[6] == 0x68 &&
	       code[11] == 0xe9;
}

const struct ow_machine ow_machine = {
	.arch = &ow_arch_x86_64,
	.gregs = gregs,
	.sp = UNW_X86_64_RSP,
	.cfa = UNW_X86_64_CFA,
	.ip = UNW_X86_64_RIP,
	.nr_regs = OW_ARRAY_SIZE(names),
	.names = names,
	.saved = saved,
	.signal_behind = true,
	.is_plt = is_plt,
};

#endif
