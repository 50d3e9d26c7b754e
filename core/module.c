// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#include "module.h"

/* Without a branch on what is compared, half of which would be mispredicted. */
const struct ow_range *ow_map_find(const struct ow_map *map, uint64_t addr)
{
	const struct ow_range *r = map->ranges;
	size_t nr = map->nr, half;

	if (nr == 0)
		return NULL;
	while (nr > 1) {
		half = nr / 2;
		r += half & -(size_t)(r[half - 1].end <= addr);
		nr -= half;
	}
	return addr >= r->start && addr < r->end ? r : NULL;
}
