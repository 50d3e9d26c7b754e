// SPDX-License-Identifier: BSD-2-Clause
#include "bulk.h"

#include "effort.h"

#define MOST     ((int64_t)1 << 30) /* bytes: holes of a file take 2 ns each */
#define A_SECOND ((int64_t)64 << 20)
#define SHARES   4
#define VAIN     64 /* as many bytes is one of packed ones that hold nothing */

static struct ow_effort efforts[OW_NR_BULKS] = {
	[OW_BULK_SECTIONS] = OW_EFFORT(MOST, A_SECOND),
	[OW_BULK_SYMBOLS] = OW_EFFORT(MOST, A_SECOND),
	[OW_BULK_RELOCATIONS] = OW_EFFORT(MOST, A_SECOND),
	[OW_BULK_UNWIND] = OW_EFFORT(MOST, A_SECOND),
	[OW_BULK_PACKED] = OW_EFFORT(MOST, A_SECOND),
	[OW_BULK_UNPACKED] = OW_EFFORT(MOST, A_SECOND),
};

bool ow_bulk_take(enum ow_bulk which, uint64_t bytes)
{
	if (bytes > ow_effort_left(&efforts[which]) / SHARES)
		return false;
	ow_effort_spend(&efforts[which], bytes);
	return true;
}

bool ow_bulk_next_piece(struct ow_bulk_packed *p, uint64_t unpacked)
{
	uint64_t weight = p->weight ? p->weight : 1;

	if (unpacked - p->had < p->piece && weight < VAIN)
		weight = VAIN;
	if (!ow_bulk_take(OW_BULK_PACKED, weight * p->piece))
		return false;
	p->had = unpacked;
	p->piece = p->left < OW_BULK_PIECE ? p->left : OW_BULK_PIECE;
	p->left -= p->piece;
	return true;
}
