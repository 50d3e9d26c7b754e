/* SPDX-License-Identifier: BSD-2-Clause */
/* libunwind's interface for AArch64. */
#ifndef LIBUNWIND_H
#define LIBUNWIND_H

#include <inttypes.h>
#include <stddef.h>
#include <sys/types.h>
#include <ucontext.h>

#ifdef __cplusplus
extern "C" {
#endif

#define UNW_TARGET           aarch64
#define UNW_TARGET_AARCH64   1
#define UNW_TDEP_CURSOR_LEN  250
#define UNW_TDEP_NUM_EH_REGS 4
#define _U_TDEP_QP_TRUE      0

typedef uint64_t unw_word_t;
typedef int64_t unw_sword_t;
typedef long double unw_tdep_fpreg_t;

typedef struct {
	uint8_t unused;
} unw_tdep_proc_info_t;

/* DWARF's numbers. */
typedef enum {
	UNW_AARCH64_X0,
	UNW_AARCH64_X1,
	UNW_AARCH64_X2,
	UNW_AARCH64_X3,
	UNW_AARCH64_X4,
	UNW_AARCH64_X5,
	UNW_AARCH64_X6,
	UNW_AARCH64_X7,
	UNW_AARCH64_X8,
	UNW_AARCH64_X9,
	UNW_AARCH64_X10,
	UNW_AARCH64_X11,
	UNW_AARCH64_X12,
	UNW_AARCH64_X13,
	UNW_AARCH64_X14,
	UNW_AARCH64_X15,
	UNW_AARCH64_X16,
	UNW_AARCH64_X17,
	UNW_AARCH64_X18,
	UNW_AARCH64_X19,
	UNW_AARCH64_X20,
	UNW_AARCH64_X21,
	UNW_AARCH64_X22,
	UNW_AARCH64_X23,
	UNW_AARCH64_X24,
	UNW_AARCH64_X25,
	UNW_AARCH64_X26,
	UNW_AARCH64_X27,
	UNW_AARCH64_X28,
	UNW_AARCH64_X29,
	UNW_AARCH64_X30,
	UNW_AARCH64_SP,
	UNW_AARCH64_PC,
	UNW_AARCH64_PSTATE,
	UNW_AARCH64_RA_SIGN_STATE,
	UNW_AARCH64_VG = 46,
	UNW_AARCH64_V0 = 64,
	UNW_AARCH64_V1,
	UNW_AARCH64_V2,
	UNW_AARCH64_V3,
	UNW_AARCH64_V4,
	UNW_AARCH64_V5,
	UNW_AARCH64_V6,
	UNW_AARCH64_V7,
	UNW_AARCH64_V8,
	UNW_AARCH64_V9,
	UNW_AARCH64_V10,
	UNW_AARCH64_V11,
	UNW_AARCH64_V12,
	UNW_AARCH64_V13,
	UNW_AARCH64_V14,
	UNW_AARCH64_V15,
	UNW_AARCH64_V16,
	UNW_AARCH64_V17,
	UNW_AARCH64_V18,
	UNW_AARCH64_V19,
	UNW_AARCH64_V20,
	UNW_AARCH64_V21,
	UNW_AARCH64_V22,
	UNW_AARCH64_V23,
	UNW_AARCH64_V24,
	UNW_AARCH64_V25,
	UNW_AARCH64_V26,
	UNW_AARCH64_V27,
	UNW_AARCH64_V28,
	UNW_AARCH64_V29,
	UNW_AARCH64_V30,
	UNW_AARCH64_V31,
	UNW_AARCH64_FPSR,
	UNW_AARCH64_FPCR,

	/* Of the frame below. */
	UNW_AARCH64_CFA = UNW_AARCH64_SP,

	UNW_TDEP_LAST_REG = UNW_AARCH64_FPCR,
	UNW_TDEP_IP = UNW_AARCH64_X30,
	UNW_TDEP_SP = UNW_AARCH64_SP,
	UNW_TDEP_EH = UNW_AARCH64_X0
} aarch64_regnum_t;

typedef struct unw_tdep_save_loc {
	uint8_t unused;
} unw_tdep_save_loc_t;

/*
 * The begin of ucontext_t, without the 4 KiB that the kernel keeps for vector
 * registers.
 */
struct unw_sigcontext {
	uint64_t fault_address;
	uint64_t regs[31];
	uint64_t sp;
	uint64_t pc;
	uint64_t pstate;
	uint8_t reserved[34 * 8] __attribute__((__aligned__(16)));
};

typedef struct {
	unsigned long uc_flags;
	struct ucontext_t *uc_link;
	stack_t uc_stack;
	sigset_t uc_sigmask;
	struct unw_sigcontext uc_mcontext;
} unw_tdep_context_t;

typedef struct {
	uint32_t _ctx_magic;
	uint32_t _ctx_size;
	uint32_t fpsr;
	uint32_t fpcr;
	uint64_t vregs[64];
} unw_fpsimd_context_t;

#include "libunwind-common.h"
#include "libunwind-dynamic.h"

#define unw_tdep_getcontext UNW_ARCH_OBJ(getcontext)
#define unw_tdep_is_fpreg   UNW_ARCH_OBJ(is_fpreg)

int unw_tdep_getcontext(unw_tdep_context_t *uc);
int unw_tdep_is_fpreg(int reg);

#ifdef __cplusplus
}
#endif

#endif /* LIBUNWIND_H */
