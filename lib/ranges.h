/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The ranges of a DIE, one after another.  libdw steps over base addresses in a list
 * of ranges by itself, however many there are; here they are paid for before.
 */
#ifndef OW_RANGES_H
#define OW_RANGES_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ow_unitcost;

struct ow_ranges {
	Dwarf_Die die;
	const struct ow_unitcost
		*cost;  /* sections of its file, or NULL: unpaid */
	uint64_t *work; /* steps that may still be taken */
	uint64_t steps; /* for each range */
	ptrdiff_t at;   /* of dwarf_ranges(); -1: no more */
	Dwarf_Addr base, start, end;
};

/* Begin with the ranges of a DIE with so many attributes. */
void ow_ranges_init(struct ow_ranges *r, const Dwarf_Die *die,
		    uint64_t nr_attributes, const struct ow_unitcost *cost,
		    uint64_t *work);

/* Go on to the next range.  Return false after the last one, or without work left. */
bool ow_ranges_next(struct ow_ranges *r);

#endif /* OW_RANGES_H */
