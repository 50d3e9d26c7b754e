// SPDX-License-Identifier: BSD-2-Clause
#include "images.h"

#include <stdlib.h>
#include <string.h>

#include "monotonic.h"

/* A program that is walking may still read what was given up: let it. */
#define GRACE_NS 1000000000ULL

void ow_images_deinit(struct ow_images *im)
{
	size_t i;

	for (i = 0; i < im->nr; i++)
		free(im->all[i].ranges);
	free(im->all);
	free(im->users);
	ow_jitmaps_deinit(&im->jits);
	*im = (struct ow_images){ 0 };
}

struct ow_image *ow_images_get(const struct ow_images *im, uint32_t id)
{
	return id && id <= im->nr ? &im->all[id - 1] : NULL;
}

/* Where a process is or belongs among the users. */
static size_t user_at(const struct ow_images *im, pid_t pid)
{
	size_t low = 0, high = im->nr_users, mid;

	while (low < high) {
		mid = low + (high - low) / 2;
		if (im->users[mid].pid < pid)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static bool is_user(const struct ow_images *im, size_t at, pid_t pid)
{
	return at < im->nr_users && im->users[at].pid == pid;
}

struct ow_image_user *ow_images_user(const struct ow_images *im, pid_t pid)
{
	size_t at = user_at(im, pid);

	return is_user(im, at, pid) ? &im->users[at] : NULL;
}

struct ow_image *ow_images_of(const struct ow_images *im, pid_t pid)
{
	const struct ow_image_user *user = ow_images_user(im, pid);

	return user ? ow_images_get(im, user->image) : NULL;
}

uint64_t ow_images_as_of(const struct ow_images *im, pid_t pid)
{
	const struct ow_image_user *user = ow_images_user(im, pid);

	return user ? user->as_of : 0;
}

static void leave(struct ow_images *im, uint32_t id)
{
	struct ow_image *image = ow_images_get(im, id);

	if (image && image->users && --image->users == 0)
		image->idle_since = ow_now_ns();
}

bool ow_images_give(struct ow_images *im, pid_t pid, struct ow_image *image,
		    uint64_t as_of)
{
	size_t at = user_at(im, pid);
	struct ow_image_user *more;

	if (!is_user(im, at, pid)) {
		if (im->nr_users == im->room_users) {
			more = realloc(im->users, (2 * im->room_users + 64) *
							  sizeof(*more));
			if (!more)
				return false;
			im->users = more;
			im->room_users = 2 * im->room_users + 64;
		}
		memmove(im->users + at + 1, im->users + at,
			(im->nr_users++ - at) * sizeof(*im->users));
	} else if (!im->users[at].is_gone) {
		leave(im, im->users[at].image);
	}
	im->users[at] = (struct ow_image_user){
		.pid = pid, .image = image->id, .as_of = as_of, .told = as_of
	};
	image->users++;
	return true;
}

void ow_images_exchange(struct ow_images *im, struct ow_image_user *user,
			struct ow_image *image)
{
	if (!user->is_gone) {
		leave(im, user->image);
		image->users++;
	}
	user->image = image->id;
}

void ow_images_fork(struct ow_images *im, pid_t parent, pid_t child,
		    uint64_t time)
{
	struct ow_image *image = ow_images_at(im, parent, time);

	/* Who has been looked at since may not be what it was. */
	if (image && time > ow_images_as_of(im, child))
		ow_images_give(im, child, image, time);
}

bool ow_images_lives(const struct ow_images *im, pid_t pid)
{
	const struct ow_image_user *user = ow_images_user(im, pid);

	return user && !user->is_gone;
}

void ow_images_end(struct ow_images *im, pid_t pid, uint64_t time)
{
	struct ow_image_user *user = ow_images_user(im, pid);

	if (!user || user->is_gone || time <= user->as_of)
		return;
	/* What was sampled before may still be on its way. */
	user->is_gone = true;
	leave(im, user->image);
}

struct ow_image *ow_images_at(const struct ow_images *im, pid_t pid,
			      uint64_t time)
{
	struct ow_image *image = ow_images_of(im, pid), *before;

	while (image && image->since > time) {
		before = ow_images_get(im, image->before);
		if (!before)
			break;
		image = before;
	}
	return image;
}

struct ow_image *ow_images_add(struct ow_images *im, pid_t pid,
			       struct ow_bpf_range *ranges, uint32_t nr,
			       uint64_t since, uint32_t before)
{
	struct ow_image *more;

	if (!ranges)
		return NULL;
	if (im->nr == im->room) {
		more = realloc(im->all, (2 * im->room + 64) * sizeof(*more));
		if (!more) {
			free(ranges);
			return NULL;
		}
		im->all = more;
		im->room = 2 * im->room + 64;
	}
	im->all[im->nr] = (struct ow_image){
		.id = (uint32_t)im->nr + 1,
		.pid = pid,
		.since = since,
		.before = before,
		.ranges = ranges,
		.nr = nr,
		.idle_since = ow_now_ns(),
	};
	im->nr_ranges += nr;
	if (nr > im->most_ranges)
		im->most_ranges = nr;
	return &im->all[im->nr++];
}

static bool is_in_use(const struct ow_image *image, uint64_t now)
{
	return image->is_placed &&
	       (image->users || now - image->idle_since < GRACE_NS);
}

/* The image in use that takes part of [first, first + nr), or NULL. */
static const struct ow_image *who_has(const struct ow_images *im,
				      uint32_t first, uint32_t nr, uint64_t now)
{
	const struct ow_image *i, *end = im->all + im->nr;

	for (i = im->all; i < end; i++)
		if (is_in_use(i, now) && first < i->first + i->nr &&
		    i->first < first + nr)
			return i;
	return NULL;
}

bool ow_images_place(struct ow_images *im, struct ow_image *image)
{
	const struct ow_image *other;
	uint64_t now = ow_now_ns();
	uint32_t first = 0;

	while (first + image->nr <= im->room_ranges) {
		other = who_has(im, first, image->nr, now);
		if (!other) {
			image->first = first;
			image->is_placed = true;
			return true;
		}
		first = other->first + other->nr;
	}
	return false;
}

/* What code is called that no object has. */
static const char *module_of(struct ow_images *im, const struct ow_bpf_range *r)
{
	if (r && r->mapped)
		return im->objects->all->modules[r->mapped - 1].path;
	/* Addresses of the kernel's, which it lets programs call. */
	return !r ? "[unknown]" : r->start >> 63 ? "[vsyscall]" : "[jit]";
}

size_t ow_images_name(struct ow_images *im, uint32_t id, pid_t pid,
		      uint64_t time, const struct ow_frame *f,
		      struct ow_name *names, size_t max)
{
	struct ow_image *image = ow_images_get(im, id);
	const struct ow_bpf_range *r = NULL;

	if (image)
		r = ow_image_range(image, ow_frame_lookup_pc(f));
	if (r && r->object)
		return ow_sampledobjects_name(im->objects, r->object,
					      f->pc - r->bias, f->flags, names,
					      max);
	names[0] = (struct ow_name){ .module = module_of(im, r),
				     .module_offset = f->pc };
	/* A child that made no code of its own has its parent's. */
	if (r && !ow_jitmaps_name(&im->jits, pid, time, f, &names[0]) &&
	    image->pid != pid)
		ow_jitmaps_name(&im->jits, image->pid, time, f, &names[0]);
	return 1;
}
