/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An ELF file in memory that has the DWARF of an object, decompressed, and
 * nothing else.  Of units, line tables and texts it has what was asked for, and zeros
 * elsewhere: a stack needs little of them, and they may have gigabytes.
 */
#ifndef OW_DWARFIMAGE_H
#define OW_DWARFIMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "piececopy.h"

struct ow_object;
struct ow_owner;

/* Sections whose pages are copied as they are needed. */
#define OW_DWARFIMAGE_PIECES 3

/* Bytes of a text that are copied; what follows them may be zeros only for now. */
#define OW_DWARFIMAGE_TEXT ((size_t)1 << 17)

struct ow_dwarfimage {
	uint8_t *bytes; /* size of them, or NULL */
	size_t size;
	struct ow_piececopy pieces[OW_DWARFIMAGE_PIECES];
	size_t offs[OW_DWARFIMAGE_PIECES]; /* in bytes */
	size_t nr;
};

/*
 * Return true if libelf and libdw can't be trusted with the object's own bytes:
 * they decompress whatever sizes are declared, into the section headers that are
 * read-only here, copy sections of some types, look through all headers and
 * names again and again, and rely on it that what they have checked stays, which
 * it need not where others may write to it.
 */
bool ow_dwarfimage_is_needed(const struct ow_object *obj);

/*
 * Make an image of the sections that functions and lines are found by, of bytes of obj,
 * which is borrowed.  Its memory is taken from the budget for the owner of *own, whose
 * it is to give back, as is what is taken later.  Return false, and nothing is taken, if
 * a section is damaged; or if they are more than the owner may have, which is noted
 * (ow_budget_refuse()).
 */
bool ow_dwarfimage_make(struct ow_dwarfimage *d, const struct ow_object *obj,
			struct ow_owner *own);

/* Free its memory; all zero is none. */
void ow_dwarfimage_deinit(struct ow_dwarfimage *d);

/*
 * Have size bytes at a place in the image be there, or those up to the end of its
 * section, or a text, or OW_DWARFIMAGE_TEXT of it.  Return false if they are more than the
 * owner may have; true also for a place elsewhere.
 */
bool ow_dwarfimage_want(struct ow_dwarfimage *d, const void *at, size_t size);
bool ow_dwarfimage_want_text(struct ow_dwarfimage *d, const char *at);

/*
 * Give back what was copied between two places of a section, of which libdw keeps nothing in
 * mind that it doesn't look at again.
 */
void ow_dwarfimage_drop(struct ow_dwarfimage *d, const void *from,
			const void *to);

/* An image that libdw takes for one with DWARF, and that has none; static. */
const uint8_t *ow_dwarfimage_empty(size_t *size_ret);

#endif /* OW_DWARFIMAGE_H */
