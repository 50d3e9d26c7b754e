/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What an object's file has of its read-only segments: bytes that no process that has
 * mapped them can have changed.
 */
#ifndef OW_READONLY_H
#define OW_READONLY_H

#include "elf.h"

/* Bytes of a segment, or of a part of one. */
struct ow_extent {
	uint64_t start, end;  /* vaddr */
	const uint8_t *bytes; /* borrowed from the file; NULL: writable */
};

struct ow_readonly {
	struct ow_extent *list; /* in address order, none overlapping */
	size_t nr;
};

/*
 * List the segments of elf, of which there are few.  Where a writable one and others
 * overlap, nothing is read-only.  Return 0, or -1 if there is no memory.
 */
int ow_readonly_make(struct ow_readonly *r, const struct ow_elf *elf);

/* The size bytes at vaddr, or NULL if not all of them are read-only. */
const uint8_t *ow_readonly_at(const struct ow_readonly *r, uint64_t vaddr,
			      size_t size);

void ow_readonly_deinit(struct ow_readonly *r);

#endif /* OW_READONLY_H */
