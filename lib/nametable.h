/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names of code by address, from a table as nm(1) and /proc/kallsyms print it:
 * "ADDRESS TYPE NAME" a line, in any order, of which the last needs no newline.
 */
#ifndef OW_NAMETABLE_H
#define OW_NAMETABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "symtab.h"

struct ow_error;
struct ow_nametable;

/*
 * Read a file.  Lines that are no symbol's are left out; NULL, with err filled,
 * if none is one.
 */
struct ow_nametable *ow_nametable_open(const char *path, struct ow_error *err);

/* The same from bytes, which are copied; path is for people. */
struct ow_nametable *ow_nametable_parse(const char *bytes, size_t size,
					const char *path, struct ow_error *err);

/*
 * The function that addr is in: the last symbol that begins at or below it, if
 * that is code.  Of two at one address the later line has it.  Its size is up to
 * the next symbol, and of the very last one 64 KiB, which nobody tells.
 */
bool ow_nametable_find(const struct ow_nametable *t, uint64_t addr,
		       struct ow_symbol *ret);

/* Where a symbol of that name is, of any type; false if there is none. */
bool ow_nametable_address(const struct ow_nametable *t, const char *name,
			  uint64_t *ret);

void ow_nametable_close(struct ow_nametable *t);

#endif /* OW_NAMETABLE_H */
