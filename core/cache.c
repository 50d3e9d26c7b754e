// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#include "cache.h"

struct ow_brief *ow_cache_place(const struct ow_cache *cache, uint64_t addr,
				uint32_t generation)
{
	struct ow_brief *b = ow_cache_pair(cache, addr);

	if (b->generation == generation)
		b[1] = b[0];
	b->generation = 0;
	return b;
}

void ow_cache_take(struct ow_cache *cache, struct ow_brief *place,
		   uint64_t addr, uint32_t generation)
{
	place->addr = addr;
	place->generation = generation;
	cache->puts++;
}

bool ow_cache_put(struct ow_cache *cache, const struct ow_arch *arch,
		  uint64_t addr, uint32_t generation, const struct ow_row *row)
{
	struct ow_brief *b = ow_cache_place(cache, addr, generation);

	if (!ow_brief_make(b, arch, row))
		return false;
	ow_cache_take(cache, b, addr, generation);
	return true;
}

void ow_cache_put_all(struct ow_cache *cache, const struct ow_cache *of,
		      uint32_t generation)
{
	uint32_t i;

	/* Of two that share their places the older one stands behind. */
	for (i = 2 * (of->mask + 1); i-- > 0;) {
		const struct ow_brief *b = &of->entries[i];

		if (b->generation != generation)
			continue;
		*ow_cache_place(cache, b->addr, generation) = *b;
		cache->puts++;
	}
}
