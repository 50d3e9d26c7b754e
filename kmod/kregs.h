/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The registers of user code, from where the kernel saved them. */
#ifndef KW_REGS_H
#define KW_REGS_H

#include <linux/ptrace.h>

#include "arch.h"

/* Fill ret and return the architecture that the code is of. */
const struct ow_arch *kw_regs(struct pt_regs *regs, struct ow_regs *ret);

/* No more than where the code is, without knowing what it is. */
void kw_regs_place(struct pt_regs *regs, u64 *pc, u64 *sp);

#endif /* KW_REGS_H */
