/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Room for ranges in the kernel's array, given out in blocks whose sizes are
 * powers of two (the buddy system): finding room takes as long however many there
 * are.
 */
#ifndef OW_RANGEROOM_H
#define OW_RANGEROOM_H

#include <stdbool.h>
#include <stdint.h>

#define OW_RANGEROOM_UNIT   16 /* ranges: the smallest block */
#define OW_RANGEROOM_ORDERS 20
#define OW_RANGEROOM_NONE   UINT32_MAX

struct ow_rangeunit {
	uint32_t next,
		prev;  /* free blocks of the order, by their first units */
	uint8_t order; /* of the block that begins here */
	bool is_free;
};

struct ow_rangeroom {
	struct ow_rangeunit *units;
	uint32_t nr; /* units, a power of two */
	uint32_t free[OW_RANGEROOM_ORDERS];
	uint32_t given; /* ranges in blocks that were given out */
};

/* Make room for nr ranges, a power of two; false: out of memory. */
bool ow_rangeroom_init(struct ow_rangeroom *r, uint32_t nr);
void ow_rangeroom_deinit(struct ow_rangeroom *r);

/* The order of the blocks that have room for nr ranges. */
unsigned int ow_rangeroom_order(uint32_t nr);

/* The first range of a block for nr ranges, or OW_RANGEROOM_NONE. */
uint32_t ow_rangeroom_take(struct ow_rangeroom *r, uint32_t nr);

/* Give a block back that was taken for nr ranges. */
void ow_rangeroom_give(struct ow_rangeroom *r, uint32_t first, uint32_t nr);

#endif /* OW_RANGEROOM_H */
