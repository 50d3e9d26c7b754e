/* SPDX-License-Identifier: BSD-2-Clause */
/* Which functions of a unit's DWARF cover an address. */
#ifndef OW_SCOPES_H
#define OW_SCOPES_H

#include <elfutils/libdw.h>
#include <stddef.h>
#include <stdint.h>

#include "owner.h"

struct ow_unitcost;

/* What is known of the units of an object.  All zero is a good beginning. */
struct ow_scopes {
	/* Steps that may still be taken, each of a few nanoseconds: attributes of
	   DIEs and of abbreviations, ranges.  At 0 nothing more is found. */
	uint64_t work_left;
	/* The file whose lists of ranges anybody may have written, and its sections;
	   NULL: there is none. */
	const Dwarf *main;
	const struct ow_unitcost *cost;
	void *units; /* a tree (tsearch(3)) of struct unit */
	struct ow_owner own;
};

/*
 * The function of the unit that covers vaddr, and what is inlined into it there:
 * fill list, the innermost first, and return how many; of more than max the
 * outermost are left out.  Blocks may be nested as deep as they like.
 */
size_t ow_scopes_find(struct ow_scopes *s, Dwarf_Die *unit, uint64_t vaddr,
		      Dwarf_Die *list, size_t max);

void ow_scopes_deinit(struct ow_scopes *s);

#endif /* OW_SCOPES_H */
