// SPDX-License-Identifier: BSD-2-Clause
#include "image.h"

#include <stddef.h>

const struct ow_bpf_range *ow_image_range(const struct ow_image *image,
					  uint64_t addr)
{
	uint32_t low = 0, high = image->nr, mid;

	while (low < high) {
		mid = low + (high - low) / 2;
		if (image->ranges[mid].end <= addr)
			low = mid + 1;
		else
			high = mid;
	}
	return low < image->nr && addr >= image->ranges[low].start ?
		       &image->ranges[low] :
		       NULL;
}

bool ow_image_has(const struct ow_image *image, const struct ow_bpf_range *r)
{
	const struct ow_bpf_range *o = ow_image_range(image, r->start);

	return o && r->end <= o->end && r->object == o->object &&
	       r->bias == o->bias;
}

uint32_t ow_image_insert(const struct ow_image *image,
			 const struct ow_bpf_range *r, struct ow_bpf_range *to)
{
	uint32_t i, nr = 0, old_nr = image ? image->nr : 0;
	const struct ow_bpf_range *o;
	bool done = false;

	for (i = 0; i < old_nr; i++) {
		o = &image->ranges[i];
		if (o->start < r->start) {
			to[nr] = *o;
			to[nr].end = o->end < r->start ? o->end : r->start;
			nr++;
		}
		if (o->end > r->end) {
			if (!done)
				to[nr++] = *r;
			done = true;
			to[nr] = *o;
			to[nr].start = o->start > r->end ? o->start : r->end;
			nr++;
		}
	}
	if (!done)
		to[nr++] = *r;
	return nr;
}
