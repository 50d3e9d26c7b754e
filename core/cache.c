// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#include "cache.h"

void ow_cache_put(struct ow_cache *cache, uint64_t addr, uint32_t generation,
		  const struct ow_row *row)
{
	struct ow_cache_entry *e = ow_cache_slot(cache, addr);

	if (row->nr > OW_CACHE_RULES)
		return;
	e->addr = addr;
	e->generation = generation;
	e->row = *row;
	memcpy(e->rules, row->rules, row->nr * sizeof(e->rules[0]));
	e->row.rules = e->rules;
}
