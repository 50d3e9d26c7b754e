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

/* A text that was read, in memory of malloc() that has room for one more byte. */
struct ow_text {
	char *bytes;
	size_t size;      /* below 4 GiB */
	size_t own;       /* bytes taken from the budget for it */
	const char *path; /* for people */
};

/*
 * Take the lines of a text, which becomes the table's, also on failure.  Lines that
 * are no symbols, such as those of undefined ones, are none.  Where all lines would
 * take more memory than they may, the first ones are taken (ow_budget_refuse()).
 * NULL when out of memory.
 */
struct ow_nametext *ow_nametext_create(const struct ow_text *text,
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
