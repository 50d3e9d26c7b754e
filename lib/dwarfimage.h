/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An ELF file in memory that has the DWARF of an object, decompressed, and
 * nothing else.
 */
#ifndef OW_DWARFIMAGE_H
#define OW_DWARFIMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ow_object;

/*
 * Return true if libelf and libdw can't be trusted with the object's own bytes:
 * they decompress whatever sizes are declared, into the section headers that are
 * read-only here, copy sections of some types, look through all headers and
 * names again and again, and rely on it that what they have checked stays, which
 * it need not where others may write to it.
 */
bool ow_dwarfimage_is_needed(const struct ow_object *obj);

/*
 * Make an image of the sections that functions and lines are found by.  Its
 * memory is taken from the budget for the owner of *own, whose it is to free.
 * NULL, and nothing is taken, if a section is damaged; or if they are more than
 * the owner may have, which is noted (ow_budget_refuse()).
 */
uint8_t *ow_dwarfimage_make(const struct ow_object *obj, size_t *own,
			    size_t *size_ret);

/* An image that libdw takes for one with DWARF, and that has none; static. */
const uint8_t *ow_dwarfimage_empty(size_t *size_ret);

#endif /* OW_DWARFIMAGE_H */
