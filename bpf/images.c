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

struct ow_image *ow_images_of(const struct ow_images *im, pid_t pid)
{
	size_t at = user_at(im, pid);

	return is_user(im, at, pid) ? ow_images_get(im, im->users[at].image) :
				      NULL;
}

uint64_t ow_images_as_of(const struct ow_images *im, pid_t pid)
{
	size_t at = user_at(im, pid);

	return is_user(im, at, pid) ? im->users[at].as_of : 0;
}

static void leave(struct ow_images *im, uint32_t id)
{
	struct ow_image *image = ow_images_get(im, id);

	if (image && image->users && --image->users == 0)
		image->idle_since = ow_now_ns();
}

static bool set_user(struct ow_images *im, pid_t pid, struct ow_image *image,
		     uint64_t as_of)
{
	size_t at = user_at(im, pid);
	struct ow_image_user *more;

	if (!is_user(im, at, pid)) {
		if (im->nr_users == im->room_users) {
			im->room_users = 2 * im->room_users + 64;
			more = realloc(im->users,
				       im->room_users * sizeof(*more));
			if (!more)
				return false;
			im->users = more;
		}
		memmove(im->users + at + 1, im->users + at,
			(im->nr_users++ - at) * sizeof(*im->users));
	} else if (!im->users[at].is_gone) {
		leave(im, im->users[at].image);
	}
	im->users[at] = (struct ow_image_user){ pid, image->id, false, as_of };
	image->users++;
	return true;
}

void ow_images_fork(struct ow_images *im, pid_t parent, pid_t child,
		    uint64_t time)
{
	struct ow_image *image = ow_images_at(im, parent, time);

	/* Who has been looked at since may not be what it was. */
	if (image && time > ow_images_as_of(im, child))
		set_user(im, child, image, time);
}

bool ow_images_lives(const struct ow_images *im, pid_t pid)
{
	size_t at = user_at(im, pid);

	return is_user(im, at, pid) && !im->users[at].is_gone;
}

void ow_images_end(struct ow_images *im, pid_t pid, uint64_t time)
{
	size_t at = user_at(im, pid);

	if (!ow_images_lives(im, pid) || time <= im->users[at].as_of)
		return;
	/* What was sampled before may still be on its way. */
	im->users[at].is_gone = true;
	leave(im, im->users[at].image);
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

static void fill_range(struct ow_images *im, pid_t pid,
		       const struct ow_mapping *map, struct ow_bpf_range *r)
{
	const struct ow_object *obj;
	uint64_t bias = 0;

	*r = (struct ow_bpf_range){ .start = map->start, .end = map->end };
	if (map->inode == 0 && strcmp(map->path, "[vdso]") != 0)
		return;
	r->object = ow_sampledobjects_number(im->objects, pid, map);
	r->mapped = r->object;
	obj = ow_sampledobjects_get(im->objects, r->object);
	if (!obj ||
	    !ow_object_bias(obj, map->start, map->inode ? map->off : 0, &bias))
		r->object = 0;
	r->bias = bias;
}

/* All that a process has mapped with code in it; NULL if there is nothing. */
static struct ow_bpf_range *list_ranges(struct ow_images *im, pid_t pid,
					uint32_t *nr_ret)
{
	struct ow_bpf_range *list = NULL;
	struct ow_mappings maps;
	uint32_t nr = 0;
	size_t i;

	*nr_ret = 0;
	if (!ow_mappings_read(pid, &maps, NULL)) {
		for (i = 0; i < maps.nr; i++)
			nr += maps.list[i].executable;
		list = nr ? calloc(nr, sizeof(*list)) : NULL;
		for (i = 0; list && i < maps.nr; i++)
			if (maps.list[i].executable)
				fill_range(im, pid, &maps.list[i],
					   &list[(*nr_ret)++]);
	}
	ow_mappings_free(&maps);
	return list;
}

static struct ow_image *add(struct ow_images *im, pid_t pid,
			    struct ow_bpf_range *ranges, uint32_t nr)
{
	struct ow_image *more;

	if (im->nr == im->room) {
		im->room = 2 * im->room + 64;
		more = realloc(im->all, im->room * sizeof(*more));
		if (!more)
			return NULL;
		im->all = more;
	}
	ow_jitmaps_note(&im->jits, pid, ranges, nr);
	im->all[im->nr] = (struct ow_image){
		.id = (uint32_t)im->nr + 1,
		.pid = pid,
		.ranges = ranges,
		.nr = nr,
	};
	return &im->all[im->nr++];
}

/* The process has these from since on; as_of is when that was known. */
static struct ow_image *replace(struct ow_images *im, pid_t pid,
				struct ow_bpf_range *ranges, uint32_t nr,
				uint64_t since, uint64_t as_of)
{
	const struct ow_image *old = ow_images_of(im, pid);
	uint32_t before = old ? old->id : 0;
	struct ow_image *image = add(im, pid, ranges, nr);

	if (!image) {
		free(ranges);
		return NULL;
	}
	image->since = since;
	image->before = before;
	return set_user(im, pid, image, as_of) ? image : NULL;
}

/*
 * The process had these from time on, up to what was looked at later: its image
 * remains what it is.
 */
static void insert_past(struct ow_images *im, pid_t pid,
			struct ow_bpf_range *ranges, uint32_t nr, uint64_t time)
{
	uint32_t before = ow_images_at(im, pid, time)->id;
	struct ow_image *later, *image = add(im, pid, ranges, nr);

	if (!image) {
		free(ranges);
		return;
	}
	image->since = time;
	image->before = before;
	later = ow_images_of(im, pid);
	while (later && later->before != before)
		later = ow_images_get(im, later->before);
	if (later)
		later->before = image->id;
}

/* Has a look been taken since, which that time is before? */
static bool is_past(const struct ow_images *im, pid_t pid, uint64_t time)
{
	return time <= ow_images_as_of(im, pid);
}

/* What was looked at since has it, or what has come in its place. */
static bool is_known(const struct ow_images *im, pid_t pid, uint64_t time)
{
	const struct ow_image *image = ow_images_of(im, pid);

	return is_past(im, pid, time) && (!image || image->since <= time);
}

/* The process has these from time on; its image, or NULL if it isn't news. */
static struct ow_image *change(struct ow_images *im, pid_t pid,
			       struct ow_bpf_range *ranges, uint32_t nr,
			       uint64_t time)
{
	if (!ranges)
		return NULL;
	if (!is_past(im, pid, time))
		return replace(im, pid, ranges, nr, time, time);
	insert_past(im, pid, ranges, nr, time);
	return NULL;
}

struct ow_image *ow_images_look(struct ow_images *im, pid_t pid, bool *is_new)
{
	struct ow_image *image = ow_images_of(im, pid);
	uint64_t as_of = ow_now_ns();
	struct ow_bpf_range *ranges;
	uint32_t nr;

	*is_new = false;
	ranges = list_ranges(im, pid, &nr);
	if (!ranges)
		return NULL;
	if (image && image->nr == nr &&
	    memcmp(image->ranges, ranges, nr * sizeof(*ranges)) == 0) {
		free(ranges);
		im->users[user_at(im, pid)].as_of = as_of;
		return image;
	}
	image = replace(im, pid, ranges, nr, image ? ow_now_ns() : 0, as_of);
	*is_new = image != NULL;
	return image;
}

struct ow_image *ow_images_exec(struct ow_images *im, pid_t pid, uint64_t time)
{
	if (is_known(im, pid, time))
		return NULL;
	return change(im, pid, calloc(1, sizeof(struct ow_bpf_range)), 0, time);
}

struct ow_image *ow_images_map(struct ow_images *im, pid_t pid, uint64_t time,
			       const struct ow_mapping *map)
{
	bool past = is_past(im, pid, time);
	struct ow_image *old = past ? ow_images_at(im, pid, time) :
				      ow_images_of(im, pid);
	struct ow_bpf_range *list, r;
	uint32_t nr = 0;

	if (is_known(im, pid, time))
		return NULL;
	fill_range(im, pid, map, &r);
	if (old && ow_image_has(old, &r)) {
		if (past)
			return NULL;
		im->users[user_at(im, pid)].as_of = time;
		return old;
	}
	list = calloc((old ? old->nr : 0) + 2, sizeof(*list));
	if (list)
		nr = ow_image_insert(old, &r, list);
	return change(im, pid, list, nr, time);
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
