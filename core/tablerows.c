// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#include "tablerows.h"

bool ow_tablerows_at(const uint8_t *bytes, uint32_t size, uint32_t off,
		     struct ow_tablerows *ret)
{
	if (off >= size)
		return false;
	ret->at = bytes + ow_index(off, size);
	ret->nr = ret->at[0];
	ret->size = size - off < OW_TABLE_BLOCK ? size - off : OW_TABLE_BLOCK;
	return ret->nr && 2 * ret->nr <= ret->size;
}

/* How many of the bytes up to end are OW_TABLE_LONG or more. */
static uint32_t count_long(const uint8_t *at, const uint8_t *end)
{
	const uint64_t ones = 0x0101010101010101ULL;
	uint32_t nr = 0;
	uint64_t eight;

	_Static_assert(OW_TABLE_LONG == 0xc0, "both upper bits are set");
	for (; end - at >= 8; at += 8) {
		memcpy(&eight, at, 8);
		nr += (uint32_t)(((eight & eight << 1) >> 7 & ones) * ones >>
				 56);
	}
	for (; at < end; at++)
		nr += *at >= OW_TABLE_LONG;
	return nr;
}

/* What a first byte that is long makes with the second. */
static uint32_t long_number(uint32_t first, uint32_t second)
{
	return OW_TABLE_LONG + ((first - OW_TABLE_LONG) << 8) + second;
}

/* The number that at[i], which is long, begins. */
OW_APART bool long_at(const struct ow_tablerows *r, uint32_t i, uint32_t *ret)
{
	uint32_t more = 2 * r->nr + count_long(r->at + 1, r->at + i);

	if (more >= r->size)
		return false;
	*ret = long_number(*ret, r->at[more]);
	return true;
}

static bool number_at(const struct ow_tablerows *r, uint32_t i, uint32_t *ret)
{
	*ret = r->at[i];
	return *ret < OW_TABLE_LONG || long_at(r, i, ret);
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

bool ow_tablerows_find(struct ow_tablerows *r, uint64_t start, uint64_t off)
{
	const uint8_t *at = r->at, *end = at + r->nr;
	const uint8_t *more = end + r->nr, *all_end = at + r->size;
	uint64_t next, if_long;

	r->last = false;
	/* Without a branch on what is long, which can't be predicted. */
	for (; ++at < end; start = next) {
		next = *at;
		if_long = -(uint64_t)(next >= OW_TABLE_LONG);
		more -= (int64_t)if_long;
		if (more > all_end)
			return false;
		next += start +
			(if_long &
			 (long_number((uint32_t)next, more[-1]) - next));
		if (next > off) {
			r->last = next == off + 1;
			break;
		}
	}
	r->row = (uint32_t)(at - r->at) - 1;
	r->start = start;
	return true;
}
