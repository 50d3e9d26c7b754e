// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* i386 psABI 1.1: table 2.14 (DWARF numbers), 2.2.1 (callee-saved). */
#include "arch.h"
#include "x86call.h"

enum {
	EAX,
	ECX,
	EDX,
	EBX,
	ESP,
	EBP,
	ESI,
	EDI,
	EIP,
	NR_REGS
};

#define SLOT_BIT(n) ((uint64_t)1 << (n))

static const uint8_t slots[NR_REGS] = {
	EAX, ECX, EDX, EBX, ESP, EBP, ESI, EDI, EIP,
};

static const char *const names[NR_REGS] = {
	"eax", "ecx", "edx", "ebx", "esp", "ebp", "esi", "edi", "eip",
};

/*
 * struct sigcontext_32 begins with gs, fs, es, ds; then the registers (Linux,
 * arch/x86/include/uapi/asm/sigcontext.h).  base is where it lies from esp at
 * the trampoline.
 */
#define STORED(slot, base, n)                                    \
	{                                                        \
		slot, OW_RULE_AT_REG, ESP, (base) + 16 + 4 * (n) \
	}
#define ALL_STORED(base)                                             \
	{                                                            \
		STORED(EDI, base, 0), STORED(ESI, base, 1),          \
			STORED(EBP, base, 2), STORED(EBX, base, 4),  \
			STORED(EDX, base, 5), STORED(ECX, base, 6),  \
			STORED(EAX, base, 7), STORED(EIP, base, 10), \
	}
#define ESP_OFF(base) ((base) + 16 + 4 * 3)

/*
 * struct sigframe_ia32: return address, signal number, sigcontext.  struct
 * rt_sigframe_ia32: return address, number, two pointers, siginfo (128 bytes),
 * ucontext, whose sigcontext lies at 20.  The handler's return has popped the
 * first word.
 */
#define OLD_BASE 4
#define RT_BASE  (4 + 4 + 4 + 128 + 20)

static const struct ow_rule old_stored[] = ALL_STORED(OLD_BASE);
static const struct ow_rule popped_stored[] = ALL_STORED(0);
static const struct ow_rule rt_stored[] = ALL_STORED(RT_BASE);

/* pop %eax; mov $__NR_sigreturn,%eax; int $0x80 */
static const uint8_t sigreturn[] = {
	0x58, 0xb8, 0x77, 0x00, 0x00, 0x00, 0xcd, 0x80,
};

/* The same behind its pop, as it calls the kernel. */
static const uint8_t popped[] = {
	0xb8, 0x77, 0x00, 0x00, 0x00, 0xcd, 0x80,
};

/* mov $__NR_rt_sigreturn,%eax; int $0x80 */
static const uint8_t rt_sigreturn[] = {
	0xb8, 0xad, 0x00, 0x00, 0x00, 0xcd, 0x80,
};

/*
 * cs: 0x23 under a 64-bit kernel, 0x73 under a 32-bit one (Linux,
 * arch/x86/include/asm/segment.h, __USER32_CS and __USER_CS).
 */
#define MARK(base) (base) + 16 + 4 * 11, 0xffaf, 0x23

static const struct ow_sigframe sigframes[] = {
	{ sigreturn, sizeof(sigreturn), OW_ARRAY_SIZE(old_stored), old_stored,
	  ESP_OFF(OLD_BASE), MARK(OLD_BASE) },
	{ popped, sizeof(popped), OW_ARRAY_SIZE(popped_stored), popped_stored,
	  ESP_OFF(0), MARK(0) },
	{ rt_sigreturn, sizeof(rt_sigreturn), OW_ARRAY_SIZE(rt_stored),
	  rt_stored, ESP_OFF(RT_BASE), MARK(RT_BASE) },
};

const struct ow_arch ow_arch_i386 = {
	.name = "i386",
	.machine = 3, /* EM_386 */
	.word = 4,
	.nr_regs = NR_REGS,
	.pc = EIP,
	.sp = ESP,
	.fp = EBP,
	.ra = EIP,
	.callee_saved = SLOT_BIT(EBX) | SLOT_BIT(ESP) | SLOT_BIT(EBP) |
			SLOT_BIT(ESI) | SLOT_BIT(EDI),
	.pc_mask = 0xffffffff,
	.slots = slots,
	.nr_slots = NR_REGS,
	.names = names,
	.sigframes = sigframes,
	.nr_sigframes = OW_ARRAY_SIZE(sigframes),
	.ends_with_call = ow_x86_ends_with_call,
	.call_size = OW_X86_CALL_SIZE,
};
