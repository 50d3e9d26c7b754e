/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The functions at some addresses, by one pass over the symbols: nothing is
 * sorted, and of most symbols nothing but their place is looked at.
 */
#ifndef OW_SYMSCAN_H
#define OW_SYMSCAN_H

#include "function.h"

enum ow_symscan_state {
	OW_SYMSCAN_NONE,   /* no function covers the address */
	OW_SYMSCAN_FOUND,  /* function is the one */
	OW_SYMSCAN_UNSURE, /* only a label may: ask the index */
};

struct ow_symscan {
	uint64_t vaddr;
	uint64_t reach; /* scratch: where labels end that begin before vaddr */
	struct ow_function function;
	uint8_t state; /* enum ow_symscan_state */
};

/*
 * Fill in what is at the addresses, which are in order and differ.  False when
 * out of memory, when so many functions overlap that the index is cheaper, or when the
 * user of the tables' owner has no time left (bulk.h).
 */
bool ow_symscan_run(const struct ow_symbols *tables, size_t nr_tables,
		    const struct ow_owner *own, struct ow_symscan *wanted,
		    size_t nr);

#endif /* OW_SYMSCAN_H */
