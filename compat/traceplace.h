/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where the caller's ip, sp and frame pointer are: one word for each address,
 * shared by threads and signal handlers, which read and write these places at
 * any time.  So check is made of the address, of the data, and of the object's
 * tag if it could be unloaded: what doesn't match isn't used.
 */
#ifndef OW_TRACEPLACE_H
#define OW_TRACEPLACE_H

#include "rowcache.h"

#define OW_NR_PLACES 8192 /* a guess can name */

struct ow_place {
	uint64_t check, data;
};

enum {
	/* Bits 0 and 1 of the data; 0: nothing that would fit in here. */
	OW_PLACE_KIND = 3,
	OW_PLACE_KIND_FRAME = 1,
	OW_PLACE_KIND_SIGNAL = 2,
	OW_PLACE_KIND_END = 3,

	OW_PLACE_CFA_BY_FP = 4,
	OW_PLACE_LASTING = 8, /* the object is never unloaded */

	/* Words; those of saves are below the CFA, and 0 if it isn't saved. */
	OW_PLACE_CFA_SHIFT = 4,
	OW_PLACE_CFA_BITS = 20,
	OW_PLACE_FP_SHIFT = 24,
	OW_PLACE_RA_SHIFT = 32,
	OW_PLACE_SAVE_BITS = 8,
	/* The place that the caller had last: a guess, which spares the loop to
	   wait for the return address before it can go on. */
	OW_PLACE_GUESS_SHIFT = 40,
	OW_PLACE_GUESS_BITS = 13,
};

extern struct ow_place ow_places[OW_NR_PLACES];

/* The first of the two places of an address; the other one is its neighbour. */
static inline struct ow_place *ow_place_pair(uint64_t addr)
{
	return &ow_places[addr * 0x9e3779b97f4a7c15ULL >> 51 & ~(uint64_t)1];
}

static inline uint64_t ow_place_mix(uint64_t data)
{
	return data * 0xd1342543de82ef95ULL;
}

static inline uint64_t ow_place_field(uint64_t data, unsigned int shift,
				      unsigned int bits)
{
	return data >> shift & (((uint64_t)1 << bits) - 1);
}

/* The data of a place, and whether that is what key, an address ^ tag, has. */
static inline bool ow_place_read(const struct ow_place *p, uint64_t key,
				 uint64_t *data_ret)
{
	uint64_t check = __atomic_load_n(&p->check, __ATOMIC_RELAXED);

	*data_ret = __atomic_load_n(&p->data, __ATOMIC_RELAXED);
	return (check ^ ow_place_mix(*data_ret)) == key;
}

/* Where the data of an address in an object of that tag is, or NULL. */
static inline struct ow_place *ow_place_find(uint64_t addr, uint64_t tag,
					     uint64_t *data_ret)
{
	struct ow_place *pair = ow_place_pair(addr);

	if (ow_place_read(&pair[0], addr ^ tag, data_ret))
		return &pair[0];
	return ow_place_read(&pair[1], addr ^ tag, data_ret) ? &pair[1] : NULL;
}

/* A row in few bits; without a kind if that isn't possible. */
uint64_t ow_place_encode(const struct ow_saved_row *s);

/* In the address's first place; what was there takes the other one. */
void ow_place_remember(uint64_t addr, uint64_t data, uint64_t tag);

/*
 * That place p, of addr, leads to place to.  One guess is as good as another, so
 * what several callers have in turn is rarely changed.
 */
void ow_place_guess(struct ow_place *p, uint64_t addr,
		    const struct ow_place *to);

#endif /* OW_TRACEPLACE_H */
