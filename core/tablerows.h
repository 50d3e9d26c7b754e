/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Reading a block or a sequence of a compact table (uapi/ow_table.h). */
#ifndef OW_TABLEROWS_H
#define OW_TABLEROWS_H

#include "ow_table.h"

#include "env.h"

/*
 * Some rows: at[0] is nr; at[1] up to at[nr - 1] are the distances of all but
 * the first, at[nr] up to at[2 * nr - 1] the codes.
 */
struct ow_tablerows {
	const uint8_t *at;
	uint32_t size, nr;
	/* The one that was looked for last: */
	uint64_t start; /* where it begins, as off is */
	uint32_t row;
	bool last; /* another begins right behind off */
};

/* Those that lie at off in some bytes; false if there are none. */
bool ow_tablerows_at(const uint8_t *bytes, uint32_t size, uint32_t off,
		     struct ow_tablerows *ret);

/* The code of one row; false if a byte of it is missing, here and below. */
bool ow_tablerows_code(const struct ow_tablerows *r, uint32_t row,
		       uint32_t *ret);

/* Add to off how far row is from the one before it, and give its code. */
bool ow_tablerows_step(const struct ow_tablerows *r, uint32_t row,
		       uint64_t *off, uint32_t *code);

/*
 * Look for the last one, where the first begins at start, up to off; false if a
 * byte of a distance before it is missing.
 */
bool ow_tablerows_find(struct ow_tablerows *r, uint64_t start, uint64_t off);

#endif /* OW_TABLEROWS_H */
