/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tables of FDEs that a caller describes by a unw_dyn_info_t: in this process
 * (UNW_INFO_FORMAT_TABLE), or in the target's memory.
 */
#ifndef OW_SEARCHTABLE_H
#define OW_SEARCHTABLE_H

#include <libunwind.h>

#include "procinfo.h"

/* As dwarf_search_unwind_table() of libunwind. */
int ow_searchtable_find(unw_accessors_t *acc, unw_addr_space_t as,
			unw_word_t ip, const unw_dyn_info_t *di,
			unw_proc_info_t *pi, int need, void *arg);

/*
 * The FDE itself, of a table in this process, and what it was read with; without
 * allocating.  Return 0 or what the engine returns.
 */
int ow_searchtable_local(uint64_t ip, const unw_dyn_info_t *di,
			 struct ow_cfi *cfi, struct ow_fde *ret);

#endif /* OW_SEARCHTABLE_H */
