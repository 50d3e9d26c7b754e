/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where any process may have code, by a hash of addresses: mostly that is enough to tell
 * that a place concerns none, however many processes there are.
 */
#ifndef OW_CODEPLACES_H
#define OW_CODEPLACES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ow_image;

struct ow_codeplaces {
	size_t nr;        /* bits that are set, */
	size_t kept;      /* and after the last ow_codeplaces_clear() */
	uint64_t cleared; /* CLOCK_MONOTONIC, ns; to add what there is */
	uint64_t took;    /* so long */
	uint32_t sizes;   /* bits: of places that are set */
	uint64_t bits[1U << 14];
};

/* NULL without memory; for free(3). */
struct ow_codeplaces *ow_codeplaces_create(void);

/*
 * There is code from start on, up to end; p may be NULL, here and below.  That is noted in
 * six places of each size at most, of which the least one is 64 KiB.
 */
void ow_codeplaces_add(struct ow_codeplaces *p, uint64_t start, uint64_t end);

/* Likewise, where an image has some, unless what it has isn't known. */
void ow_codeplaces_add_image(struct ow_codeplaces *p,
			     const struct ow_image *image);

/* Return true if there may be some; also of a range that is too large to look for it. */
bool ow_codeplaces_has(const struct ow_codeplaces *p, uint64_t start,
		       uint64_t end);

/*
 * Return true if so much was added that what is gone should be left out: call
 * ow_codeplaces_clear() then, add what there is, and call ow_codeplaces_keep().
 */
bool ow_codeplaces_is_crowded(const struct ow_codeplaces *p);
void ow_codeplaces_clear(struct ow_codeplaces *p);
void ow_codeplaces_keep(struct ow_codeplaces *p);

#endif /* OW_CODEPLACES_H */
