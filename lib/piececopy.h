/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A copy of bytes that others may write to at any time.  Each page is copied when it is
 * needed first, and stays as it was then, until it is given back: what was checked in the
 * copy holds on.  Pages that nobody needed are zeros, and take no memory.
 */
#ifndef OW_PIECECOPY_H
#define OW_PIECECOPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ow_owner;

/* All zero has no bytes. */
struct ow_piececopy {
	uint8_t *to; /* at a page's start, and zeros up to a page's end */
	const uint8_t *from; /* size bytes */
	size_t size;
	uint64_t *copied; /* a bit for each page */
	struct ow_owner *own;
};

/* The bytes of a page, in which memory is counted. */
size_t ow_piececopy_page(void);

/*
 * Begin a copy of size bytes, whose place the caller may set later.  Return false if there
 * is no memory to keep in mind what was copied, which the owner of *own is charged for.
 * What is charged is the owner's to give back.
 */
bool ow_piececopy_init(struct ow_piececopy *p, const uint8_t *from, size_t size,
		       struct ow_owner *own);

void ow_piececopy_deinit(struct ow_piececopy *p);

/* Return true if the byte at is one of the copy. */
bool ow_piececopy_has(const struct ow_piececopy *p, const void *at);

/*
 * Have size bytes from at on, or those up to the end of the copy, be copied.  Return
 * false if they are more than the owner may have.
 */
bool ow_piececopy_want(struct ow_piececopy *p, const void *at, size_t size);

/*
 * Have the text at be copied up to its end, or most bytes of it, which are followed by what
 * may be zeros only for now.  Return false as above.
 */
bool ow_piececopy_want_text(struct ow_piececopy *p, const char *at,
			    size_t most);

/*
 * Give back pages that lie between two places of the copy: they are zeros again, and copied
 * anew, as they are by then, when they are needed.
 */
void ow_piececopy_drop(struct ow_piececopy *p, const void *from,
		       const void *to);

#endif /* OW_PIECECOPY_H */
