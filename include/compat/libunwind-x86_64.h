/* SPDX-License-Identifier: BSD-2-Clause */
/* libunwind's interface for x86-64. */
#ifndef LIBUNWIND_H
#define LIBUNWIND_H

#include <inttypes.h>
#include <stddef.h>
#include <sys/types.h>
#include <ucontext.h>

#ifdef __cplusplus
extern "C" {
#endif

#define UNW_TARGET           x86_64
#define UNW_TARGET_X86_64    1
#define UNW_TDEP_CURSOR_LEN  127
#define UNW_TDEP_NUM_EH_REGS 2
#define _U_TDEP_QP_TRUE      0

typedef uint64_t unw_word_t;
typedef int64_t unw_sword_t;
typedef long double unw_tdep_fpreg_t;

/* DWARF's numbers. */
typedef enum {
	UNW_X86_64_RAX,
	UNW_X86_64_RDX,
	UNW_X86_64_RCX,
	UNW_X86_64_RBX,
	UNW_X86_64_RSI,
	UNW_X86_64_RDI,
	UNW_X86_64_RBP,
	UNW_X86_64_RSP,
	UNW_X86_64_R8,
	UNW_X86_64_R9,
	UNW_X86_64_R10,
	UNW_X86_64_R11,
	UNW_X86_64_R12,
	UNW_X86_64_R13,
	UNW_X86_64_R14,
	UNW_X86_64_R15,
	UNW_X86_64_RIP,
	UNW_TDEP_LAST_REG = UNW_X86_64_RIP,

	UNW_X86_64_CFA, /* of the frame below; read only */

	UNW_TDEP_IP = UNW_X86_64_RIP,
	UNW_TDEP_SP = UNW_X86_64_RSP,
	UNW_TDEP_BP = UNW_X86_64_RBP,
	UNW_TDEP_EH = UNW_X86_64_RAX
} x86_64_regnum_t;

typedef struct unw_tdep_save_loc {
	uint8_t unused;
} unw_tdep_save_loc_t;

typedef ucontext_t unw_tdep_context_t;

typedef struct {
	uint8_t unused;
} unw_tdep_proc_info_t;

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
