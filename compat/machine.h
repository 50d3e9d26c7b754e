/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What libunwind's interface says of the machine that this is compiled for: one
 * file machine_<name>.c each, which is empty on the others.
 */
#ifndef OW_MACHINE_H
#define OW_MACHINE_H

#include <libunwind.h>

#include "arch.h"

/* Slots, known when this is compiled. */
#ifdef __x86_64__
enum {
	OW_M_FP = 6,
	OW_M_SP = 7,
	OW_M_PC = 16,
	OW_M_RA = OW_M_PC,
	OW_M_NR = 17,
	OW_M_NR_SAVED = 5, /* rbx, r12 to r15 */
	OW_M_UC = 0,       /* of a signal frame's ucontext, from sp */
};
#else
enum {
	OW_M_FP = 29,
	OW_M_SP = 31,
	OW_M_PC = 32,
	OW_M_RA = 30,
	OW_M_NR = 42,
	OW_M_NR_SAVED = 10, /* x19 to x28 */
	OW_M_UC = 128,
};
#endif

/* A code address without the signature that a return address may have. */
static inline uint64_t ow_machine_code(uint64_t pc)
{
#ifdef __x86_64__
	return pc;
#else
	const uint64_t mask = ((uint64_t)1 << 48) - 1;

	return pc >> 55 & 1 ? pc | ~mask : pc & mask;
#endif
}

#define OW_GREG_NONE 0xffff

struct ow_machine {
	const struct ow_arch *arch;
	/* Where each slot is in a unw_context_t, or OW_GREG_NONE. */
	const uint16_t *gregs;
	/* What is only read: sp's, and the CFA's number. */
	unw_regnum_t sp, cfa, ip;
	unw_regnum_t nr_regs; /* of names */
	const char *const *names;
	const uint8_t *saved; /* slots of struct ow_trace_regs' saved */
	/* unw_is_signal_frame(): what was interrupted, not the trampoline. */
	bool signal_behind;
	bool rowless_is_error; /* to unw_get_proc_info() */
	/* Are these the bytes that a PLT entry has at ip? */
	bool (*is_plt)(const uint8_t *code);
};

extern const struct ow_machine ow_machine;

/* The slot of one of libunwind's register numbers, or OW_SLOT_NONE. */
static inline uint8_t ow_machine_slot(unw_regnum_t reg)
{
	return reg < 0 ? OW_SLOT_NONE : ow_arch_slot(ow_machine.arch, reg);
}

/* Go on with the registers of a context; doesn't return. */
_Noreturn void ow_machine_resume(const unw_context_t *uc);

/* The same through the kernel: uc is that of a signal's frame, still in place. */
_Noreturn void ow_machine_sigreturn(const void *uc);

#endif /* OW_MACHINE_H */
