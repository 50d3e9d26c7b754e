// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#include "tablerows.h"

bool ow_tablerows_at(const uint8_t *bytes, uint32_t size, uint32_t off,
		     struct ow_tablerows *ret)
{
	if (off >= size)
		return false;
	ret->at = bytes + off;
	ret->nr = ret->at[0];
	ret->size = size - off < OW_TABLE_BLOCK ? size - off : OW_TABLE_BLOCK;
	return ret->nr && 2 * ret->nr <= ret->size;
}

/* How many of at[from] up to at[to - 1] are OW_TABLE_LONG or more. */
static uint32_t count_long(const uint8_t *at, uint32_t from, uint32_t to)
{
	const uint64_t ones = 0x0101010101010101ULL;
	uint32_t nr = 0;
	uint64_t eight;

	_Static_assert(OW_TABLE_LONG == 0xc0, "both upper bits are set");
	for (; to - from >= 8; from += 8) {
		memcpy(&eight, at + from, 8);
		nr += (uint32_t)(((eight & eight << 1) >> 7 & ones) * ones >>
				 56);
	}
	for (; from < to; from++)
		nr += at[from] >= OW_TABLE_LONG;
	return nr;
}

/* What a first byte that is long makes with the second. */
static uint32_t long_number(uint32_t first, uint32_t second)
{
	return OW_TABLE_LONG + ((first - OW_TABLE_LONG) << 8) + second;
}

static bool number_at(const struct ow_tablerows *r, uint32_t i, uint32_t *ret)
{
	uint32_t first = r->at[i], more;

	*ret = first;
	if (first < OW_TABLE_LONG)
		return true;
	more = 2 * r->nr + count_long(r->at, 1, i);
	if (more >= r->size)
		return false;
	*ret = long_number(first, r->at[more]);
	return true;
}

bool ow_tablerows_code(const struct ow_tablerows *r, uint32_t row,
		       uint32_t *ret)
{
	return number_at(r, r->nr + row, ret);
}

bool ow_tablerows_step(const struct ow_tablerows *r, uint32_t row,
		       uint64_t *off, uint32_t *code)
{
	uint32_t distance = 0;

	if (row && !number_at(r, row, &distance))
		return false;
	*off += distance;
	return ow_tablerows_code(r, row, code);
}

bool ow_tablerows_find(const struct ow_tablerows *r, uint64_t start,
		       uint64_t off, struct ow_tablerow *ret)
{
	const uint8_t *at = r->at;
	uint32_t row, more = 2 * r->nr, distance = 0, is_long, number;
	uint64_t left = off - start;

	/* Without a branch on what is long, which can't be predicted. */
	for (row = 1; row < r->nr; row++) {
		distance = at[row];
		is_long = distance >= OW_TABLE_LONG;
		more += is_long;
		if (more > r->size)
			return false;
		number = long_number(distance, at[more - 1]);
		distance += -is_long & (number - distance);
		if (distance > left)
			break;
		left -= distance;
	}
	ret->start = off - left;
	ret->last = row < r->nr && distance == left + 1;
	return ow_tablerows_code(r, row - 1, &ret->code) &&
	       (!ret->last || ow_tablerows_code(r, row, &ret->next));
}
