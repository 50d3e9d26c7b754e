/* SPDX-License-Identifier: BSD-2-Clause */
/* From an address to its FDE, as unw_proc_info_t and for stepping. */
#ifndef OW_PROCINFO_H
#define OW_PROCINFO_H

#include <libunwind.h>

#include "cfi.h"

/*
 * What unw_proc_info_t.unwind_info points to: malloc()ed where a find_proc_info()
 * is asked for it, and freed by ow_procinfo_put().
 */
struct ow_unwind_info {
	struct ow_fde fde;
	uint64_t bias;  /* addr - vaddr */
	uint8_t how;    /* enum ow_how */
	uint8_t *owned; /* bytes that fde borrows, or NULL */
};

/* Fill pi, all but gp and unwind_info, from an FDE of cfi. */
void ow_procinfo_of(unw_proc_info_t *pi, const struct ow_cfi *cfi,
		    const struct ow_cfi_env *env, const struct ow_fde *fde,
		    uint8_t how);

/*
 * The same, and pi->unwind_info if need says so.  owned goes
 * to that, or is freed.  Return 0 or -UNW_ENOMEM.
 */
int ow_procinfo_fill(unw_proc_info_t *pi, const struct ow_cfi *cfi,
		     const struct ow_cfi_env *env, const struct ow_fde *fde,
		     uint8_t how, int need, uint8_t *owned);

/* Free what ow_procinfo_fill() allocated. */
void ow_procinfo_put(unw_proc_info_t *pi);

/* The same of an object in this process, without allocating. */
int ow_procinfo_local(uint64_t addr, unw_proc_info_t *pi);

#endif /* OW_PROCINFO_H */
