// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#include "module.h"

const struct ow_range *ow_map_find(const struct ow_map *map, uint64_t addr)
{
	size_t low = 0, high = map->nr, mid;

	while (low < high) {
		mid = low + (high - low) / 2;
		if (map->ranges[mid].end <= addr)
			low = mid + 1;
		else
			high = mid;
	}
	if (low == map->nr || addr < map->ranges[low].start)
		return NULL;
	return &map->ranges[low];
}
