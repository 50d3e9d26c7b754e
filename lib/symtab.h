/* SPDX-License-Identifier: BSD-2-Clause */
/* Function names of one object, by address. */
#ifndef OW_SYMTAB_H
#define OW_SYMTAB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ow_debuginfod;
struct ow_object;
struct ow_symtab;

struct ow_symbol {
	const char
		*name; /* raw; borrowed from the table until the next look-up */
	uint64_t vaddr;
	uint64_t size; /* 0: the object doesn't say */
};

/*
 * Take what names the functions of an object: .symtab and .dynsym, those of its
 * separate debug file (found by build-id or .gnu_debuglink, or asked of debuginfod,
 * if that is not NULL) and of .gnu_debugdata.  An object without any gives an
 * empty table; NULL only when out of memory.  obj and debuginfod are borrowed.  Tables that
 * there is no time for are tried again by later look-ups, some seconds apart.
 */
struct ow_symtab *ow_symtab_create(struct ow_object *obj,
				   struct ow_debuginfod *debuginfod);

/*
 * ow_symtab_find() of these is to come: look them up together, in one pass over
 * the symbols.  vaddrs are put in order.
 */
void ow_symtab_prepare(struct ow_symtab *tab, uint64_t *vaddrs, size_t nr);

/*
 * The function that covers vaddr, or false.  Without ow_symtab_prepare() the
 * first few cost a pass each, and all others together an index.  What looks through
 * symbols for too long (bulk.h) finds nothing, and is told of (ow_object_refuse()).
 */
bool ow_symtab_find(struct ow_symtab *tab, uint64_t vaddr,
		    struct ow_symbol *ret);

/* Return true if a debug file was cut off while it was read. */
bool ow_symtab_is_cut(const struct ow_symtab *tab);

void ow_symtab_destroy(struct ow_symtab *tab);

#endif /* OW_SYMTAB_H */
