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
	uint8_t byte;

	if (!ow_cursor_more(c)) {
		c->bad = true;
		return 0;
	}
	byte = *c->pos++;
	ow_keep(byte);
	return byte;
}

/* Step over n bytes and return where they begin, or NULL. */
static inline const uint8_t *ow_cursor_skip(struct ow_cursor *c, uint64_t n)
{
	const uint8_t *at = c->pos;

	if (c->bad || n > (uint64_t)(c->end - c->pos)) {
		c->bad = true;
		return NULL;
	}
	c->pos += n;
	return at;
}

/*
 * What ow_cursor_uint() does once it knows that the bytes are there.  Sizes of
 * fields are one load each; every host of ours is little-endian, too.
 */
static inline uint64_t ow_little_endian(const uint8_t *at, size_t size)
{
	uint64_t value = 0;
	uint32_t four;

	switch (size) {
	case 4:
		memcpy(&four, at, 4);
		ow_keep(four);
		return four;
	case 8:
		memcpy(&value, at, 8);
		ow_keep(value);
		return value;
	}
	while (size-- > 0)
		value = value << 8 | at[size];
	ow_keep(value);
	return value;
}

/* A little-endian unsigned integer of size 1, 2, 4 or 8 bytes. */
static inline uint64_t ow_cursor_uint(struct ow_cursor *c, size_t size)
{
	const uint8_t *at = ow_cursor_skip(c, size);

	return at ? ow_little_endian(at, size) : 0;
}

/* ULEB128 and SLEB128 of more than one byte, or at the end. */
uint64_t ow_cursor_long_uleb(struct ow_cursor *c);
int64_t ow_cursor_long_sleb(struct ow_cursor *c);

/* The byte that is all of a LEB128; or 0x80, and nothing is read. */
static inline uint8_t ow_cursor_only_byte(struct ow_cursor *c)
{
	uint8_t byte = ow_cursor_more(c) ? *c->pos : 0x80;

	ow_keep(byte);
	if (byte >= 0x80)
		return 0x80;
	c->pos++;
	return byte;
}

/* ULEB128 and SLEB128; bits beyond 64 mark the cursor bad. */
static inline uint64_t ow_cursor_uleb(struct ow_cursor *c)
{
	uint8_t byte = ow_cursor_only_byte(c);

	return byte < 0x80 ? byte : ow_cursor_long_uleb(c);
}

static inline int64_t ow_cursor_sleb(struct ow_cursor *c)
{
	uint8_t byte = ow_cursor_only_byte(c);

	return byte < 0x80 ? (int64_t)(byte ^ 0x40) - 0x40 :
			     ow_cursor_long_sleb(c);
}

#endif /* OW_CURSOR_H */
