// SPDX-License-Identifier: BSD-2-Clause
#include "oldimages.h"

#include <stdlib.h>
#include <string.h>

#include "monotonic.h"

/* What was sampled while a process had it may come that much later. */
#define LATE_NS 2000000000ULL
#define FEW     (1U << 18) /* ranges, 32 bytes each */

/* Of stored stacks, those of images that no process has had since an instant. */
struct claims {
	struct ow_stored **list; /* in the order of images */
	size_t nr;
};

static bool is_old(const struct ow_image *image, uint64_t since)
{
	return image->users == 0 && image->idle_since < since;
}

static int order(const void *a, const void *b)
{
	const struct ow_stored *const *x = a, *const *y = b;

	return ((*x)->is.image > (*y)->is.image) -
	       ((*x)->is.image < (*y)->is.image);
}

static bool collect(struct claims *c, const struct ow_images *im,
		    const struct ow_samplestore *store, uint64_t since)
{
	const struct ow_image *image;
	size_t i;

	c->list = malloc((store->nr + 1) * sizeof(struct ow_stored *));
	if (!c->list)
		return false;
	for (i = 0; i < store->room; i++) {
		if (!store->slots[i])
			continue;
		image = ow_images_get(im, store->slots[i]->is.image);
		if (image && is_old(image, since))
			c->list[c->nr++] = store->slots[i];
	}
	qsort(c->list, c->nr, sizeof(struct ow_stored *), order);
	return true;
}

/* The image's ranges that a stack has frames in. */
static void claim(const struct ow_image *image, const struct ow_recorded *s,
		  bool *claimed)
{
	const struct ow_bpf_range *range;
	struct ow_frame f;
	size_t i;

	for (i = s->nr_kernel; i < s->nr_kernel + s->nr; i++) {
		f = ow_recorded_frame(s, i);
		range = ow_image_range(image, ow_frame_lookup_pc(&f));
		if (range)
			claimed[range - image->ranges] = true;
	}
}

/*
 * In memory of their own: what the rest of a list leaves when it is cut off is too
 * small for another one.
 */
static void keep_claimed(struct ow_image *image, const bool *claimed)
{
	struct ow_bpf_range *list = image->ranges, *less;
	uint32_t i, nr = 0;

	for (i = 0; i < image->nr; i++)
		if (claimed[i])
			list[nr++] = list[i];
	less = nr ? malloc(nr * sizeof(*less)) : NULL;
	if (less)
		memcpy(less, list, nr * sizeof(*less));
	if (less || nr == 0) {
		free(list);
		image->ranges = less;
	}
	image->nr = nr;
	image->is_placed = false;
}

bool ow_oldimages_free(struct ow_images *im, const struct ow_samplestore *store,
		       uint64_t since, void (*forget)(void *arg, uint32_t id),
		       void *arg)
{
	struct claims c = { 0 };
	bool *claimed = calloc(im->most_ranges + 1, sizeof(*claimed));
	bool done = claimed && collect(&c, im, store, since);
	struct ow_image *image, *end = im->all + im->nr;
	size_t at = 0;

	for (image = im->all; done && image < end; image++) {
		if (!is_old(image, since) || image->nr == 0)
			continue;
		while (at < c.nr && c.list[at]->is.image < image->id)
			at++;
		memset(claimed, 0, image->nr * sizeof(*claimed));
		for (; at < c.nr && c.list[at]->is.image == image->id; at++)
			claim(image, &c.list[at]->is, claimed);
		forget(arg, image->id);
		im->nr_ranges -= image->nr;
		keep_claimed(image, claimed);
		im->nr_ranges += image->nr;
	}
	free(c.list);
	free(claimed);
	return done;
}

void ow_oldimages_thin(struct ow_images *im, const struct ow_samplestore *store,
		       void (*forget)(void *arg, uint32_t id), void *arg)
{
	if (im->nr_ranges < im->thin_at || im->nr_ranges < FEW)
		return;
	ow_oldimages_free(im, store, ow_now_ns() - LATE_NS, forget, arg);
	im->thin_at = im->nr_ranges + im->nr_ranges / 2;
}
