/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What libdw has to read, and to keep, of a unit: units may share their tables,
 * but libdw keeps each unit's by itself.
 */
#ifndef OW_UNITCOST_H
#define OW_UNITCOST_H

#include <stddef.h>
#include <stdint.h>

struct ow_dwarfimage;

/* Sections of one file; size 0: it has none. */
struct ow_unitcost {
	struct ow_dwarfimage *image; /* that they are in, or NULL */
	const uint8_t *info, *abbrevs, *lines, *line_strings, *strings, *ranges,
		*rnglists;
	uint64_t info_size, abbrevs_size, lines_size, line_strings_size,
		strings_size, ranges_size, rnglists_size;
};

/* Find the sections in an ELF file of size bytes. */
void ow_unitcost_init(struct ow_unitcost *c, const uint8_t *bytes, size_t size);

/*
 * The bytes of the abbreviations from off on, up to the one that the DIE at die
 * has; ow_unitcost_all_abbrevs(): up to their end.  No more than most bytes are
 * read; most + 1 if there are more.
 */
uint64_t ow_unitcost_abbrevs(const struct ow_unitcost *c, uint64_t off,
			     uint64_t die, uint64_t most);
uint64_t ow_unitcost_all_abbrevs(const struct ow_unitcost *c, uint64_t off,
				 uint64_t most);

/* The bytes of the line table at off. */
uint64_t ow_unitcost_lines(const struct ow_unitcost *c, uint64_t off);

/*
 * The bytes of the files' names of the line table at off, each joined with the
 * longest folder and with a folder of folder_size bytes, which the unit was compiled
 * in.  Once they are more than most, counting ends.  That takes steps of *work, each
 * of a few nanoseconds: for each byte of the table, and for texts elsewhere.  Return
 * most + 1 where the bytes are more, and where no step is left, without a look at a
 * table that has more bytes than there are steps.
 */
uint64_t ow_unitcost_files(const struct ow_unitcost *c, uint64_t off,
			   size_t folder_size, uint64_t most, uint64_t *work);

#endif /* OW_UNITCOST_H */
