/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names by address without an object's ranges: lines "ADDRESS TYPE NAME", as
 * nm(1) and /proc/kallsyms have them.
 */
#ifndef OW_NAMETEXT_H
#define OW_NAMETEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <outwind/outwind.h>

struct ow_nametext;

/*
 * Take the lines of a text, which becomes the table's, also on failure; it
 * comes from malloc() and has room for one more byte than size.  Lines that
 * are no symbols, such as those of undefined ones, are none.  NULL when out of
 * memory.
 */
struct ow_nametext *ow_nametext_create(char *text, size_t size,
				       enum ow_aliases aliases);

/* How many addresses; none if all symbols are at 0, as hidden ones are. */
size_t ow_nametext_nr(const struct ow_nametext *t);

/* The last symbol at or before addr.  False if there is none. */
bool ow_nametext_find(const struct ow_nametext *t, uint64_t addr,
		      const char **name_ret, uint64_t *offset_ret);

/* Where a symbol of that name is, also one that doesn't name its address. */
bool ow_nametext_address(const struct ow_nametext *t, const char *name,
			 uint64_t *ret);

void ow_nametext_destroy(struct ow_nametext *t);

#endif /* OW_NAMETEXT_H */
