// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#include "cursor.h"

static uint64_t leb(struct ow_cursor *c, bool is_signed)
{
	uint64_t value = 0;
	unsigned int shift = 0;
	uint8_t byte, last;

	do {
		byte = ow_cursor_u8(c);
		last = byte & 0x7f;
		/* The tenth byte has one bit, and what extends its sign. */
		if (shift >= 64 ||
		    (shift == 63 && last && last != (is_signed ? 0x7f : 1)))
			c->bad = true;
		else
			value |= (uint64_t)last << shift;
		shift += 7;
	} while (!c->bad && (byte & 0x80));

	if (is_signed && shift < 64 && (byte & 0x40))
		value |= ~(uint64_t)0 << shift;
	return c->bad ? 0 : value;
}

uint64_t ow_cursor_long_uleb(struct ow_cursor *c)
{
	return leb(c, false);
}

int64_t ow_cursor_long_sleb(struct ow_cursor *c)
{
	return (int64_t)leb(c, true);
}
