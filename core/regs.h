/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The registers of one frame, and which of them are known. */
#ifndef OW_REGS_H
#define OW_REGS_H

#include "env.h"

/*
 * Slots, not DWARF numbers: arch.h maps one to the other.  The largest user is
 * aarch64: x0-x30, sp, pc, ra_sign_state, d8-d15.
 */
#define OW_MAX_REGS 42

struct ow_regs {
	/* Valid where known has the bit; the last one is for nothing. */
	uint64_t val[OW_MAX_REGS + 1];
	uint64_t known; /* bit n: val[n] is right */
};

static inline bool ow_regs_known(const struct ow_regs *r, unsigned int slot)
{
	return r->known >> slot & 1;
}

static inline void ow_regs_set(struct ow_regs *r, unsigned int slot,
			       uint64_t val)
{
	r->val[slot] = val;
	r->known |= (uint64_t)1 << slot;
}

#endif /* OW_REGS_H */
