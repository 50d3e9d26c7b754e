/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The DIEs of a unit, one after another.  libdw goes through all attributes of a DIE
 * for each one that is asked for, and through all that is in a DIE to find the next
 * one beside it: a small file has it busy for minutes, in one call.  What is read
 * here is charged as it is read.
 */
#ifndef OW_DIES_H
#define OW_DIES_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ow_abbrev;
struct ow_owner;
struct ow_unitcost;

struct ow_dies {
	const uint8_t *start, *end; /* of the unit, with its header */
	unsigned int version, addr_size, off_size;
	struct ow_abbrev *abbrevs; /* by code */
	const uint8_t *abbrevs_end;
	size_t nr, room;
	bool is_whole;        /* all of these could be read */
	uint64_t *work;       /* steps that may still be taken */
	struct ow_owner *own; /* of memory for the abbreviations */
};

struct ow_die {
	const uint8_t *at;
	const uint8_t
		*after;   /* its own bytes: its first child, or what follows */
	uint64_t sibling; /* offset in the unit; 0: unknown */
	uint64_t nr_attributes;
	unsigned int tag;
	bool has_children;
	bool has_addresses; /* DW_AT_low_pc, DW_AT_ranges or the like */
};

/*
 * Read the abbreviations of a unit, whose DIE that is.  The sections of its file are
 * looked for if cost is NULL.  Return false if there is no such unit.  Either way,
 * ow_dies_deinit() gives back what was taken.
 */
bool ow_dies_init(struct ow_dies *d, Dwarf_Die *unit,
		  const struct ow_unitcost *cost, uint64_t *work,
		  struct ow_owner *own);

void ow_dies_deinit(struct ow_dies *d);

/*
 * Read the DIE at a place.  Return false after the last one of its parent, and where
 * nothing more can or may be read.
 */
bool ow_dies_read(const struct ow_dies *d, const uint8_t *at,
		  struct ow_die *ret);

/* Return true if the last one of a parent is before that place. */
bool ow_dies_is_end(const struct ow_dies *d, const uint8_t *at);

/* Where the next one beside it is, after all that is in it; or NULL. */
const uint8_t *ow_dies_after(const struct ow_dies *d, const struct ow_die *die);

#endif /* OW_DIES_H */
