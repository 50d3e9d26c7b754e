/* SPDX-License-Identifier: BSD-2-Clause */
/* Names of an object's functions as libunwind finds them: by where they begin, alone. */
#ifndef OW_FUNCNAMES_H
#define OW_FUNCNAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elfsym.h"

struct ow_object;
struct ow_funcname;

struct ow_funcnames {
	const struct ow_object *obj; /* borrowed */
	struct ow_elfsyms tables[2]; /* .dynsym, .symtab */
	size_t nr_tables;
	uint64_t size; /* bytes of all symbols */
	unsigned int passes;
	bool is_indexed;           /* that was tried */
	struct ow_funcname *index; /* NULL: none */
	size_t nr;                 /* of it */
	size_t own;                /* bytes taken from the budget */
};

/*
 * Take the symbol tables of an object.  One that would take too long to look through is
 * left out.  Clear with ow_funcnames_clear().
 */
void ow_funcnames_init(struct ow_funcnames *n, const struct ow_object *obj);

/*
 * Copy the name of the function that begins last at or before vaddr, and how far vaddr is into
 * it (off_ret may be NULL).  The first few questions cost a pass over the symbols each, all
 * others together an index.  Return 0, -UNW_ENOINFO, or -UNW_ENOMEM if buf is too short: then
 * it has the begin of the name.
 */
int ow_funcnames_find(struct ow_funcnames *n, uint64_t vaddr, char *buf,
		      size_t size, uint64_t *off_ret);

void ow_funcnames_clear(struct ow_funcnames *n);

#endif /* OW_FUNCNAMES_H */
