// SPDX-License-Identifier: BSD-2-Clause
/* What a capture has of the target's memory: copies, and files. */
#include <stdlib.h>
#include <string.h>

#include "capture.h"
#include "err.h"

#define MOST_NEAR 8 /* ranges on each side of what is read */

static int region_order(const void *a, const void *b)
{
	const struct ow_region *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

/* Cut what two regions share out of the second one. */
static void separate_regions(struct ow_capture *c)
{
	struct ow_region *r = c->regions;
	uint64_t end = 0, shared;
	size_t i, kept = 0;

	for (i = 0; i < c->nr_regions; i++) {
		shared = kept && r[i].start < end ? end - r[i].start : 0;
		if (shared >= r[i].size)
			continue;
		r[kept++] = (struct ow_region){ .start = r[i].start + shared,
						.size = r[i].size - shared,
						.bytes = r[i].bytes + shared };
		end = r[kept - 1].start + r[kept - 1].size;
	}
	c->nr_regions = kept;
}

void ow_capture_sort_regions(struct ow_capture *c)
{
	if (c->nr_regions)
		qsort(c->regions, c->nr_regions, sizeof(*c->regions),
		      region_order);
	separate_regions(c);
}

const struct ow_region *ow_capture_region_at(const struct ow_capture *c,
					     uint64_t addr)
{
	size_t low = 0, high = c->nr_regions, mid;

	while (low < high) {
		mid = low + (high - low) / 2;
		if (addr - c->regions[mid].start < c->regions[mid].size)
			return &c->regions[mid];
		if (addr < c->regions[mid].start)
			high = mid;
		else
			low = mid + 1;
	}
	return NULL;
}

static bool read_module(const struct ow_capture_module *m, uint64_t addr,
			void *buf, size_t size)
{
	const uint8_t *at = NULL;

	/* Else it may not be known where it is, or be another machine's. */
	if (m->object && !m->why.code)
		at = ow_readonly_at(&m->object->readonly, addr - m->base.bias,
				    size);
	if (at)
		ow_object_read(m->object, at, buf, size);
	return at;
}

/* The number of the first range that ends above addr. */
static size_t range_above(const struct ow_map *map, uint64_t addr)
{
	size_t low = 0, high = map->nr, mid;

	while (low < high) {
		mid = low + (high - low) / 2;
		if (map->ranges[mid].end > addr)
			high = mid;
		else
			low = mid + 1;
	}
	return low;
}

/* Data has no range, but stands near its object's code. */
int ow_capture_read_files(const struct ow_capture *c, uint64_t addr, void *buf,
			  size_t size)
{
	const struct ow_map *map = &c->target.map;
	const struct ow_module *before = NULL, *m;
	size_t above = range_above(map, addr), i, k;

	for (k = 0; k < 2 * MOST_NEAR; k++) {
		/* Above, below, next above, and so on. */
		i = k % 2 ? above - 1 - k / 2 : above + k / 2;
		m = i < map->nr ? map->ranges[i].module : NULL;
		if (m && m != before &&
		    read_module((const struct ow_capture_module *)m, addr, buf,
				size))
			return 0;
		before = m;
	}
	return -OW_EFAULT;
}

int ow_capture_read_memory(const struct ow_memory *mem, uint64_t addr,
			   void *buf, size_t size)
{
	const struct ow_capture *c = (const struct ow_capture *)mem;
	const struct ow_region *r = ow_capture_region_at(c, addr);

	if (!r || r->size - (addr - r->start) < size)
		return ow_capture_read_files(c, addr, buf, size);
	memcpy(buf, r->bytes + (addr - r->start), size);
	return 0;
}
