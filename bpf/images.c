// SPDX-License-Identifier: BSD-2-Clause
#include "images.h"

#include <stdlib.h>
#include <string.h>

#include "codeplaces.h"
#include "monotonic.h"

_Static_assert(OW_RECORD_MAPPINGS + 1 == OW_BPF_RANGES / 8 &&
		       OW_RECORD_FILES_ALL + 1 == OW_BPF_OBJECTS,
	       "as the header says");

void ow_images_deinit(struct ow_images *im)
{
	struct ow_image *image, *next;
	size_t i;

	ow_images_drop_users(im);
	for (i = 0; i < im->nr_buckets; i++)
		for (image = im->by_id[i]; image; image = next) {
			next = image->next_of_id;
			if (im->forget)
				im->forget(im->arg, image);
			free(image->ranges);
			free(image->claimed);
			free(image);
		}
	free(im->by_id);
	free(im->placed);
	free(im->limbo);
	free(im->places);
	ow_rangeroom_deinit(&im->room);
	ow_jitmaps_deinit(&im->jits);
	*im = (struct ow_images){ 0 };
}

void ow_images_renew(struct ow_images *im)
{
	struct ow_images anew = {
		.objects = im->objects,
		.kernel = im->kernel,
		.changes = im->changes,
		.asked = im->asked,
		.patience = im->patience,
		.evictions = im->evictions,
		.forget = im->forget,
		.arg = im->arg,
		.ended = im->ended,
		.ended_arg = im->ended_arg,
		.last_id = im->last_id,
		.jits = { .nr_cut = im->jits.nr_cut,
			  .asked = im->jits.asked,
			  .times = im->jits.times,
			  .rests_until = im->jits.rests_until },
		.nr_full = im->nr_full,
		.nr_refused = im->nr_refused,
	};

	/* A program that is walking may still read what was given up. */
	anew.room = im->room;
	anew.placed = im->placed;
	anew.limbo = im->limbo;
	anew.nr_limbo = im->nr_limbo;
	anew.room_limbo = im->room_limbo;
	im->room = (struct ow_rangeroom){ 0 };
	im->placed = NULL;
	im->limbo = NULL;
	im->jits.times = (struct ow_usertimes){ 0 };
	ow_images_move_shares(&anew, im);
	ow_images_deinit(im);
	*im = anew;
}

struct ow_image *ow_images_get(const struct ow_images *im, uint32_t id)
{
	struct ow_image *image;

	if (!im->nr_buckets)
		return NULL;
	image = im->by_id[id & (im->nr_buckets - 1)];
	while (image && image->id != id)
		image = image->next_of_id;
	return image;
}

static void link_image(struct ow_images *im, struct ow_image *image)
{
	struct ow_image **head = &im->by_id[image->id & (im->nr_buckets - 1)];

	image->next_of_id = *head;
	*head = image;
}

/* As many buckets as images at least; numbers follow each other. */
static bool make_buckets(struct ow_images *im)
{
	size_t nr = im->nr_buckets, i;
	struct ow_image **before = im->by_id, **more, *image;

	if (im->nr < nr)
		return true;
	more = calloc(nr ? 2 * nr : 256, sizeof(struct ow_image *));
	if (!more)
		return false;
	im->by_id = more;
	im->nr_buckets = nr ? 2 * nr : 256;
	for (i = 0; i < nr; i++)
		while (before[i]) {
			image = before[i];
			before[i] = image->next_of_id;
			link_image(im, image);
		}
	free(before);
	return true;
}

/* Have it looked at when it may have been idle for long enough. */
static void queue(struct ow_images *im, struct ow_image *image, uint64_t now)
{
	if (image->is_idle)
		return;
	image->is_idle = true;
	image->queued = now;
	image->next_idle = NULL;
	if (im->last_idle)
		im->last_idle->next_idle = image;
	else
		im->first_idle = image;
	im->last_idle = image;
}

struct ow_image *ow_images_add(struct ow_images *im, pid_t pid,
			       struct ow_bpf_range *ranges, uint32_t nr)
{
	struct ow_image *image = ranges ? calloc(1, sizeof(*image)) : NULL;

	if (!image || !make_buckets(im)) {
		free(image);
		free(ranges);
		return NULL;
	}
	image->id = ++im->last_id;
	image->pid = pid;
	image->ranges = ranges;
	image->nr = nr;
	im->nr++;
	im->nr_ranges += nr;
	image->idle_since = ow_now_ns();
	link_image(im, image);
	ow_codeplaces_add_image(im->places, image);
	queue(im, image, image->idle_since);
	return image;
}

struct ow_image *ow_images_add_full(struct ow_images *im, pid_t pid)
{
	struct ow_bpf_range *all = calloc(1, sizeof(*all));

	if (all)
		*all = (struct ow_bpf_range){ .end = UINT64_MAX,
					      .mapped = OW_BPF_NO_ROOM };
	return ow_images_add(im, pid, all, 1);
}

struct ow_image *ow_images_unknown(struct ow_images *im)
{
	if (!im->unknown) {
		im->unknown = ow_images_add_full(im, 0);
		ow_images_hold(im, im->unknown);
	}
	return im->unknown;
}

/* Somebody has the image now, or nobody any more: so it is of its objects, too. */
static void count_user(struct ow_images *im, const struct ow_image *image,
		       void (*count)(struct ow_objectnumbers *n,
				     uint32_t number))
{
	uint32_t i;

	for (i = 0; i < image->nr; i++)
		if (ow_image_has_number(&image->ranges[i]))
			count(&im->objects->numbers, image->ranges[i].mapped);
}

void ow_images_hold(struct ow_images *im, struct ow_image *image)
{
	if (image && image->users++ == 0)
		count_user(im, image, ow_objectnumbers_hold);
}

void ow_images_leave(struct ow_images *im, struct ow_image *image)
{
	if (!image || --image->users)
		return;
	count_user(im, image, ow_objectnumbers_leave);
	image->idle_since = ow_now_ns();
	queue(im, image, image->idle_since);
}

static void free_image(struct ow_images *im, struct ow_image *image)
{
	struct ow_image **at = &im->by_id[image->id & (im->nr_buckets - 1)];

	while (*at != image)
		at = &(*at)->next_of_id;
	*at = image->next_of_id;
	im->nr--;
	im->nr_ranges -= image->nr;
	ow_images_uncount(im, image, image->nr);
	free(image->ranges);
	free(image->claimed);
	free(image);
}

/* In memory of their own, so that what others leave can be another's. */
static void keep_claimed(struct ow_images *im, struct ow_image *image)
{
	struct ow_bpf_range *list = image->ranges, *less;
	uint32_t i, nr = 0;

	for (i = 0; image->claimed && i < image->nr; i++)
		if (image->claimed[i])
			list[nr++] = list[i];
	free(image->claimed);
	image->claimed = NULL;
	im->nr_ranges -= image->nr - nr;
	ow_images_uncount(im, image, image->nr - nr);
	image->nr = nr;
	less = nr ? malloc(nr * sizeof(*less)) : NULL;
	if (less)
		memcpy(less, list, nr * sizeof(*less));
	if (less || nr == 0) {
		free(list);
		image->ranges = less;
	}
}

/* Nobody has had it for long enough. */
static void thin(struct ow_images *im, struct ow_image *image)
{
	if (im->forget)
		im->forget(im->arg, image);
	ow_images_displace(im, image);
	if (image->stored)
		keep_claimed(im, image);
	else
		free_image(im, image);
}

void ow_images_thin(struct ow_images *im, uint64_t since)
{
	struct ow_image *image;

	while (im->first_idle && im->first_idle->queued < since) {
		image = im->first_idle;
		im->first_idle = image->next_idle;
		if (!im->first_idle)
			im->last_idle = NULL;
		image->is_idle = false;
		if (image->users)
			continue;
		if (image->idle_since < since)
			thin(im, image);
		else
			queue(im, image, image->idle_since);
	}
}

/* Code that is of no object; the kernel maps some of its own high up. */
static bool is_jit(const struct ow_bpf_range *range)
{
	return range && !range->mapped && !(range->start >> 63);
}

/* A child that made no code of its own has its parent's. */
static void want_jitmap(struct ow_images *im, const struct ow_image *image,
			pid_t pid)
{
	uid_t uid = ow_images_uid(im, pid);

	ow_jitmaps_want(&im->jits, pid, uid);
	if (image->pid != pid)
		ow_jitmaps_want(&im->jits, image->pid, uid);
}

void ow_images_claim(struct ow_images *im, const struct ow_recorded *s)
{
	struct ow_image *image = ow_images_get(im, s->image);
	const struct ow_bpf_range *range;
	bool has_jit = false;
	struct ow_frame f;
	size_t i;

	if (!image)
		return;
	image->stored++;
	if (!image->claimed)
		image->claimed = calloc(image->nr + 1, 1);
	for (i = s->nr_kernel; i < s->nr_kernel + s->nr; i++) {
		f = ow_recorded_frame(s, i);
		range = ow_image_range(image, ow_frame_lookup_pc(&f));
		if (range && image->claimed)
			image->claimed[range - image->ranges] = 1;
		has_jit = has_jit || is_jit(range);
	}
	if (has_jit)
		want_jitmap(im, image, s->pid);
}

void ow_images_unclaim(struct ow_images *im, const struct ow_recorded *s)
{
	struct ow_image *image = ow_images_get(im, s->image);

	if (!image || --image->stored || image->users || image->is_idle)
		return;
	thin(im, image);
}

/* What code is called that no object has. */
static const char *module_of(struct ow_images *im, const struct ow_bpf_range *r)
{
	if (r && r->mapped == OW_BPF_NO_ROOM)
		return "[no room]";
	if (r && r->mapped)
		return im->objects->numbers.all->modules[r->mapped - 1].path;
	/* Addresses of the kernel's, which it lets programs call. */
	return !r ? "[unknown]" : r->start >> 63 ? "[vsyscall]" : "[jit]";
}

size_t ow_images_name(struct ow_images *im, const struct ow_recorded *s,
		      const struct ow_frame *f, struct ow_name *names,
		      size_t max)
{
	struct ow_image *image = ow_images_get(im, s->image);
	const struct ow_bpf_range *r = NULL;

	if (image)
		r = ow_image_range(image, ow_frame_lookup_pc(f));
	ow_symbolizer_ask_for(im->objects->symbolizer, s->uid);
	if (r && r->object)
		return ow_sampledobjects_name(im->objects, r->object,
					      f->pc - r->bias, f->flags, names,
					      max);
	names[0] = (struct ow_name){ .module = module_of(im, r),
				     .module_offset = f->pc };
	if (r && !r->mapped)
		ow_jitmaps_name(&im->jits, s->pid, image->pid, s->since, f,
				&names[0]);
	return 1;
}
