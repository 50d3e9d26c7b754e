// SPDX-License-Identifier: BSD-2-Clause
/* Where images lie in the kernel's array, and which make room for others. */
#include <stdlib.h>
#include <string.h>

#include "images.h"
#include "monotonic.h"

/* A program that is walking may still read what was given up: let it. */
#define GRACE_NS 1000000000ULL
#define TICK_NS  100000000 /* of the time that programs note */
#define UNUSED   100       /* ticks: any other image may have the place */

struct ow_image_limbo {
	uint32_t first, nr;
	uint64_t since; /* ns */
};

static struct ow_bpf_range *head_of(const struct ow_images *im,
				    const struct ow_image *image)
{
	return im->kernel ? &im->kernel[image->first - 1] : NULL;
}

/* Blocks that no program reads any more, in the order in which they came. */
static void reclaim(struct ow_images *im)
{
	uint64_t now = ow_now_ns();
	size_t i;

	for (i = 0; i < im->nr_limbo; i++) {
		if (now - im->limbo[i].since < GRACE_NS)
			break;
		ow_rangeroom_give(&im->room, im->limbo[i].first,
				  im->limbo[i].nr);
	}
	if (i && i < im->nr_limbo)
		memmove(im->limbo, im->limbo + i,
			(im->nr_limbo - i) * sizeof(*im->limbo));
	im->nr_limbo -= i;
}

void ow_images_displace(struct ow_images *im, struct ow_image *image)
{
	size_t room = 2 * im->room_limbo + 64;
	struct ow_image_limbo *more;
	struct ow_bpf_range *head;

	if (!image->is_placed)
		return;
	if (im->nr_limbo == im->room_limbo) {
		more = realloc(im->limbo, room * sizeof(*more));
		if (!more)
			return; /* it stays there */
		im->limbo = more;
		im->room_limbo = room;
	}
	head = head_of(im, image);
	if (head)
		__atomic_store_n(&head->object, 0, __ATOMIC_SEQ_CST);
	if (im->changes)
		__atomic_fetch_add(im->changes, 1, __ATOMIC_SEQ_CST);
	im->placed[(image->first - 1) / OW_RANGEROOM_UNIT] = NULL;
	image->is_placed = false;
	im->limbo[im->nr_limbo++] = (struct ow_image_limbo){ image->first - 1,
							     image->nr + 1,
							     ow_now_ns() };
}

/*
 * Displace what was not used for long, or else the one among those that are not
 * smaller that was used the longest ago: what has many ranges can't take the
 * places of many that have few.
 */
static void evict(struct ow_images *im, uint32_t nr)
{
	unsigned int order = ow_rangeroom_order(nr);
	uint64_t now = ow_now_ns() / TICK_NS, used, least = UINT64_MAX;
	struct ow_image *image, *oldest = NULL;
	bool is_done = false;
	uint32_t i;

	for (i = 0; i < im->room.nr; i++) {
		image = im->placed[i];
		if (!image)
			continue;
		used = im->kernel ? head_of(im, image)->start : 0;
		if (used + UNUSED < now) {
			ow_images_displace(im, image);
			im->evictions++;
			is_done = true;
		} else if (used < least &&
			   ow_rangeroom_order(image->nr + 1) >= order) {
			least = used;
			oldest = image;
		}
	}
	if (is_done || !oldest)
		return;
	ow_images_displace(im, oldest);
	im->evictions++;
}

static bool make_room(struct ow_images *im)
{
	if (im->room.nr)
		return true;
	im->placed = calloc(OW_BPF_RANGES / OW_RANGEROOM_UNIT,
			    sizeof(struct ow_image *));
	return im->placed && ow_rangeroom_init(&im->room, OW_BPF_RANGES);
}

bool ow_images_place(struct ow_images *im, struct ow_image *image)
{
	struct ow_bpf_range *head;
	uint32_t first;

	if (image->is_placed)
		return true;
	if (im->is_closed || image->nr > OW_RECORD_MAPPINGS || !make_room(im))
		return false;
	reclaim(im);
	first = ow_rangeroom_take(&im->room, image->nr + 1);
	if (first == OW_RANGEROOM_NONE) {
		/* Unless what is on its way out will do. */
		if (!im->nr_limbo)
			evict(im, image->nr + 1);
		return false;
	}
	image->first = first + 1;
	image->is_placed = true;
	im->placed[first / OW_RANGEROOM_UNIT] = image;
	head = head_of(im, image);
	if (!head)
		return true;
	*head = (struct ow_bpf_range){ .start = ow_now_ns() / TICK_NS };
	if (image->nr)
		memcpy(head + 1, image->ranges,
		       image->nr * sizeof(*image->ranges));
	__atomic_store_n(&head->object, image->id, __ATOMIC_RELEASE);
	return true;
}

void ow_images_displace_all(struct ow_images *im)
{
	uint32_t i;

	im->is_closed = true;
	for (i = 0; i < im->room.nr; i++)
		if (im->placed[i])
			ow_images_displace(im, im->placed[i]);
}
