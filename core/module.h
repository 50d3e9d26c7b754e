/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What is mapped where in a target, as far as unwinding asks. */
#ifndef OW_MODULE_H
#define OW_MODULE_H

#include "cfi.h"
#include "orc.h"
#include "rare.h"
#include "table.h"

enum ow_module_state {
	OW_MODULE_UNREAD, /* its unwind data has not been looked for yet */
	OW_MODULE_READY,
};

/* One object at one place. */
struct ow_module {
	uint64_t bias; /* addr - vaddr */
	enum ow_module_state state;
	const struct ow_cfi *cfi;     /* NULL: it has none; borrowed */
	const struct ow_table *table; /* NULL: none; borrowed */
	const struct ow_rare *rare; /* what the table leaves out, where there is
					 no CFI; NULL: nothing; borrowed */
	const struct ow_orc *orc;   /* NULL: it's no kernel; borrowed */
	uint64_t entry;             /* vaddr where a program starts, or 0 */
};

/* A range of executable addresses. */
struct ow_range {
	uint64_t start, end;
	struct ow_module *module; /* NULL: code without an object, a JIT's */
};

/* All ranges of a target, sorted, none overlapping another. */
struct ow_map {
	const struct ow_range *ranges;
	size_t nr;
	uint32_t generation; /* differs whenever the ranges do; not 0 */
};

/* The range that holds addr, or NULL. */
const struct ow_range *ow_map_find(const struct ow_map *map, uint64_t addr);

#endif /* OW_MODULE_H */
