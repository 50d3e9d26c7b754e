/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Bounded reading of untrusted bytes.
 *
 * A read past the end returns 0 and marks the cursor bad; it stays bad.  So a
 * parser reads field after field and asks once, at the end, whether what it
 * read was there.  Loops must still be bounded by ow_cursor_more().
 */
#ifndef OW_CURSOR_H
#define OW_CURSOR_H

#include "env.h"

struct ow_cursor {
	const uint8_t *pos;
	const uint8_t *end;
	bool bad;
};

static inline bool ow_cursor_more(const struct ow_cursor *c)
{
	return !c->bad && c->pos < c->end;
}

/* One byte. */
static inline uint8_t ow_cursor_u8(struct ow_cursor *c)
{
	if (!ow_cursor_more(c)) {
		c->bad = true;
		return 0;
	}
	return *c->pos++;
}

/* A little-endian unsigned integer of size 1, 2, 4 or 8 bytes. */
uint64_t ow_cursor_uint(struct ow_cursor *c, size_t size);

/* ULEB128 and SLEB128; bits beyond 64 mark the cursor bad. */
uint64_t ow_cursor_uleb(struct ow_cursor *c);
int64_t ow_cursor_sleb(struct ow_cursor *c);

/* Step over n bytes and return where they begin, or NULL. */
const uint8_t *ow_cursor_skip(struct ow_cursor *c, uint64_t n);

#endif /* OW_CURSOR_H */
