// SPDX-License-Identifier: BSD-2-Clause
#include "image.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

const struct ow_bpf_range *ow_image_in_list(const struct ow_bpf_range *list,
					    uint32_t nr, uint64_t addr)
{
	uint32_t low = 0, high = nr, mid;

	while (low < high) {
		mid = low + (high - low) / 2;
		if (list[mid].end <= addr)
			low = mid + 1;
		else
			high = mid;
	}
	return low < nr ? &list[low] : NULL;
}

const struct ow_bpf_range *ow_image_from(const struct ow_image *image,
					 uint64_t addr)
{
	return ow_image_in_list(image->ranges, image->nr, addr);
}

const struct ow_bpf_range *ow_image_range(const struct ow_image *image,
					  uint64_t addr)
{
	const struct ow_bpf_range *r = ow_image_from(image, addr);

	return r && addr >= r->start ? r : NULL;
}

bool ow_image_has_number(const struct ow_bpf_range *range)
{
	return range->mapped && range->mapped != OW_BPF_NO_ROOM;
}

bool ow_image_is_full(const struct ow_image *image)
{
	return image->nr == 1 && image->ranges[0].end == UINT64_MAX &&
	       image->ranges[0].mapped == OW_BPF_NO_ROOM;
}

static bool is_same_code(const struct ow_bpf_range *a,
			 const struct ow_bpf_range *b)
{
	return a->object == b->object && a->bias == b->bias &&
	       a->mapped == b->mapped;
}

uint32_t ow_image_overlay(const struct ow_image_list *old,
			  const struct ow_image_list *new,
			  struct ow_bpf_range *to)
{
	const struct ow_bpf_range *b = new->all, *end = b + new->nr;
	struct ow_bpf_range a;
	uint32_t i, nr = 0;

	for (i = 0; i < old->nr; i++) {
		a = old->all[i];
		while (b < end && b->end <= a.start)
			to[nr++] = *b++;
		/* What is left of it between those that are new. */
		for (; b < end && b->start < a.end; b++) {
			if (b->start >= a.start && b->end <= a.end &&
			    is_same_code(&a, b))
				continue;
			if (a.start < b->start) {
				to[nr] = a;
				to[nr++].end = b->start;
			}
			a.start = b->end < a.end ? b->end : a.end;
			if (b->end > a.end)
				break;
			to[nr++] = *b;
		}
		if (a.start < a.end)
			to[nr++] = a;
	}
	while (b < end)
		to[nr++] = *b++;
	return nr;
}

static struct ow_bpf_range *copy(const struct ow_bpf_range *list, uint32_t nr)
{
	struct ow_bpf_range *ret = malloc(nr * sizeof(*ret));

	if (ret)
		memcpy(ret, list, nr * sizeof(*ret));
	return ret;
}

/* Halves of halves, each of which is flat, by twos: from one buffer to the other. */
static struct ow_bpf_range *merge(struct ow_bpf_range *from,
				  struct ow_bpf_range *to, uint32_t *sizes,
				  uint32_t nr)
{
	struct ow_bpf_range *swap, *at, *out;
	struct ow_image_list a, b;
	uint32_t i, left;

	for (; nr > 1; nr = left) {
		left = 0;
		at = from;
		out = to;
		for (i = 0; i < nr; i += 2) {
			a = (struct ow_image_list){ at, sizes[i] };
			b = (struct ow_image_list){ at + a.nr,
						    i + 1 < nr ? sizes[i + 1] :
								 0 };
			at = b.all + b.nr;
			sizes[left] = ow_image_overlay(&a, &b, out);
			out += sizes[left++];
		}
		swap = from;
		from = to;
		to = swap;
	}
	return from;
}

bool ow_image_flatten(struct ow_image_list *maps)
{
	size_t room = 3 * (size_t)maps->nr, i;
	struct ow_bpf_range *both, *flat = NULL;
	uint32_t *sizes;

	if (maps->nr < 2)
		return true;
	both = calloc(2 * room, sizeof(*both));
	sizes = calloc(maps->nr, sizeof(*sizes));
	if (both && sizes) {
		memcpy(both, maps->all, maps->nr * sizeof(*both));
		for (i = 0; i < maps->nr; i++)
			sizes[i] = 1;
		flat = merge(both, both + room, sizes, maps->nr);
		/* There can be more of them than before. */
		flat = copy(flat, sizes[0]);
	}
	if (flat) {
		free(maps->all);
		*maps = (struct ow_image_list){ flat, sizes[0] };
	}
	free(both);
	free(sizes);
	return flat != NULL;
}
