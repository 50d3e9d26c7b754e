/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A fixed-size cache from pc to row, for stacks that look alike.  It holds rows
 * in brief; others aren't cached.
 */
#ifndef OW_CACHE_H
#define OW_CACHE_H

#include "brief.h"

/*
 * The caller owns the entries, all zero at first: 2 * (mask + 1) of them, as
 * each addr has two places to be in.
 */
struct ow_cache {
	struct ow_brief *entries;
	uint32_t mask; /* a power of two, minus one */
	uint32_t puts; /* how often a row was put, for who would make it grow */
};

/* The two places of an addr. */
static inline struct ow_brief *ow_cache_pair(const struct ow_cache *cache,
					     uint64_t addr)
{
	uint64_t hash = addr * 0x9e3779b97f4a7c15ULL;

	return &cache->entries[2 * ((hash >> 40) & cache->mask)];
}

/* What is known of addr under that generation, or NULL. */
static inline const struct ow_brief *
ow_cache_get(const struct ow_cache *cache, uint64_t addr, uint32_t generation)
{
	const struct ow_brief *b = ow_cache_pair(cache, addr);

	if (b->addr == addr && b->generation == generation)
		return b;
	b++;
	return b->addr == addr && b->generation == generation ? b : NULL;
}

/*
 * A place to make the row of addr in, that of the older of the two that share
 * its places; and, once it is made, take it as the row of addr.  Who has no row
 * in the end leaves it as it is.
 */
struct ow_brief *ow_cache_place(const struct ow_cache *cache, uint64_t addr,
				uint32_t generation);
void ow_cache_take(struct ow_cache *cache, struct ow_brief *place,
		   uint64_t addr, uint32_t generation);

/* Both for a row, if it can be put in brief.  Could it? */
bool ow_cache_put(struct ow_cache *cache, const struct ow_arch *arch,
		  uint64_t addr, uint32_t generation, const struct ow_row *row);

/* Put what another cache has under that generation, an empty one's as a rule. */
void ow_cache_put_all(struct ow_cache *cache, const struct ow_cache *of,
		      uint32_t generation);

#endif /* OW_CACHE_H */
