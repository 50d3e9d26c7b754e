/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A fixed-size cache from pc to row, for stacks that look alike. */
#ifndef OW_CACHE_H
#define OW_CACHE_H

#include "row.h"

/* A row with more rules isn't cached; aarch64's usual 12 fit. */
#define OW_CACHE_RULES 12

struct ow_cache_entry {
	uint64_t addr;
	uint32_t generation; /* of the map; 0: the entry is empty */
	struct ow_row row;
	struct ow_rule rules[OW_CACHE_RULES];
};

/* The caller owns the entries, all zero at first; their number is mask + 1. */
struct ow_cache {
	struct ow_cache_entry *entries;
	uint32_t mask; /* a power of two, minus one */
};

static inline struct ow_cache_entry *ow_cache_slot(const struct ow_cache *cache,
						   uint64_t addr)
{
	uint64_t hash = addr * 0x9e3779b97f4a7c15ULL;

	return &cache->entries[(hash >> 40) & cache->mask];
}

/* The row for addr under that generation, or NULL. */
static inline const struct ow_row *ow_cache_get(const struct ow_cache *cache,
						uint64_t addr,
						uint32_t generation)
{
	const struct ow_cache_entry *e = ow_cache_slot(cache, addr);

	return e->addr == addr && e->generation == generation ? &e->row : NULL;
}

/* Remember a copy of the row, in place of what shares its entry. */
void ow_cache_put(struct ow_cache *cache, uint64_t addr, uint32_t generation,
		  const struct ow_row *row);

#endif /* OW_CACHE_H */
