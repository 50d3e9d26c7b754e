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

/* What a long first byte makes with the second byte number i. */
static bool long_number(const struct ow_tablerows *r, uint32_t first,
			uint32_t i, uint32_t *ret)
{
	uint32_t at = 2 * r->nr + i;

	if (at >= r->size)
		return false;
	*ret = OW_TABLE_LONG + ((first - OW_TABLE_LONG) << 8) + r->at[at];
	return true;
}

static bool number_at(const struct ow_tablerows *r, uint32_t i, uint32_t *ret)
{
	uint32_t first = r->at[i], k, nr_long = 0;

	*ret = first;
	if (first < OW_TABLE_LONG)
		return true;
	for (k = 1; k < i; k++)
		nr_long += r->at[k] >= OW_TABLE_LONG;
	return long_number(r, first, nr_long, ret);
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
	uint64_t left = off - start;
	uint32_t row, nr_long = 0, distance = 0;

	for (row = 1; row < r->nr; row++) {
		distance = r->at[row];
		if (distance >= OW_TABLE_LONG &&
		    !long_number(r, distance, nr_long++, &distance))
			return false;
		if (distance > left)
			break;
		left -= distance;
	}
	ret->start = off - left;
	ret->last = row < r->nr && distance == left + 1;
	return ow_tablerows_code(r, row - 1, &ret->code) &&
	       (!ret->last || ow_tablerows_code(r, row, &ret->next));
}
