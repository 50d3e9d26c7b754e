/* SPDX-License-Identifier: BSD-2-Clause */
/* Source lines and inlined functions of one object, from its DWARF. */
#ifndef OW_LINES_H
#define OW_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OW_LINES_MOST 64 /* calls, inlined into each other */

struct ow_debuginfod;
struct ow_lines;
struct ow_object;

/* A call in the source.  Strings are borrowed from the ow_lines. */
struct ow_line {
	const char *function; /* as linked if DWARF tells, or NULL */
	uint64_t start;       /* vaddr of its entry; 0: unknown, or inline */
	const char *file;     /* a path, or NULL */
	unsigned int line, column; /* 0: unknown */
	bool is_inline;            /* inlined into the next */
};

/*
 * Open the DWARF of obj, in its own file or in its separate debug file, and of
 * the file that dwz shared parts into.  obj is borrowed.  NULL if there is
 * none.
 */
struct ow_lines *ow_lines_create(struct ow_object *obj,
				 struct ow_debuginfod *debuginfod);

/*
 * Fill calls with what the source has at vaddr, the innermost first, and
 * return how many, at most max and OW_LINES_MOST; 0 if no unit covers vaddr.
 */
size_t ow_lines_find(struct ow_lines *l, uint64_t vaddr, struct ow_line *calls,
		     size_t max);

/* Return true if a debug file was cut off while it was read. */
bool ow_lines_is_cut(const struct ow_lines *l);

void ow_lines_destroy(struct ow_lines *l);

#endif /* OW_LINES_H */
