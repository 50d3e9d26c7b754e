// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* x86-64 psABI 1.0: figure 3.36 (DWARF numbers), 3.2.1 (callee-saved). */
#include "arch.h"
#include "x86call.h"

enum {
	RAX,
	RDX,
	RCX,
	RBX,
	RSI,
	RDI,
	RBP,
	RSP,
	R8,
	R9,
	R10,
	R11,
	R12,
	R13,
	R14,
	R15,
	RIP,
	NR_REGS
};

#define SLOT_BIT(n) ((uint64_t)1 << (n))

static const uint8_t slots[NR_REGS] = {
	RAX, RDX, RCX, RBX, RSI, RDI, RBP, RSP, R8,
	R9,  R10, R11, R12, R13, R14, R15, RIP,
};

static const char *const names[NR_REGS] = {
	"rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp", "r8",
	"r9",  "r10", "r11", "r12", "r13", "r14", "r15", "rip",
};

/*
 * The handler's return pops the trampoline's address, so sp is at struct
 * ucontext; uc_mcontext.gregs begins 40 bytes into it, in this order
 * (Linux, arch/x86/include/uapi/asm/sigcontext.h, struct sigcontext_64).
 */
#define GREG(n) (40 + 8 * (n))
#define STORED(slot, n)                            \
	{                                          \
		slot, OW_RULE_AT_REG, RSP, GREG(n) \
	}

static const struct ow_rule stored[] = {
	STORED(R8, 0),   STORED(R9, 1),   STORED(R10, 2),  STORED(R11, 3),
	STORED(R12, 4),  STORED(R13, 5),  STORED(R14, 6),  STORED(R15, 7),
	STORED(RDI, 8),  STORED(RSI, 9),  STORED(RBP, 10), STORED(RBX, 11),
	STORED(RDX, 12), STORED(RAX, 13), STORED(RCX, 14), STORED(RIP, 16),
};

/* mov $__NR_rt_sigreturn,%rax; syscall */
static const uint8_t rt_sigreturn[] = {
	0x48, 0xc7, 0xc0, 0x0f, 0x00, 0x00, 0x00, 0x0f, 0x05,
};

/* The same as clang and hand-written code have it: mov $15,%eax; syscall. */
static const uint8_t rt_sigreturn32[] = {
	0xb8, 0x0f, 0x00, 0x00, 0x00, 0x0f, 0x05,
};

/* cs of 64-bit code (Linux, arch/x86/include/asm/segment.h, __USER_CS). */
#define MARK GREG(18), 0xffff, 0x33

static const struct ow_sigframe sigframes[] = {
	{ rt_sigreturn, sizeof(rt_sigreturn), OW_ARRAY_SIZE(stored), stored,
	  GREG(15), MARK },
	{ rt_sigreturn32, sizeof(rt_sigreturn32), OW_ARRAY_SIZE(stored), stored,
	  GREG(15), MARK },
};

const struct ow_arch ow_arch_x86_64 = {
	.name = "x86_64",
	.machine = 62, /* EM_X86_64 */
	.word = 8,
	.nr_regs = NR_REGS,
	.pc = RIP,
	.sp = RSP,
	.fp = RBP,
	.ra = RIP,
	.callee_saved = SLOT_BIT(RBX) | SLOT_BIT(RBP) | SLOT_BIT(RSP) |
			SLOT_BIT(R12) | SLOT_BIT(R13) | SLOT_BIT(R14) |
			SLOT_BIT(R15),
	.pc_mask = ~(uint64_t)0,
	.slots = slots,
	.nr_slots = NR_REGS,
	.names = names,
	.sigframes = sigframes,
	.nr_sigframes = OW_ARRAY_SIZE(sigframes),
	.ends_with_call = ow_x86_ends_with_call,
	.call_size = OW_X86_CALL_SIZE,
};
