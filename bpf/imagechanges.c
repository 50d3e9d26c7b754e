// SPDX-License-Identifier: BSD-2-Clause
/* What processes have mapped, as they are looked at, and as the kernel tells. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "error.h"
#include "images.h"
#include "monotonic.h"
#include "remapped.h"

#define MOST_LOOKS 100 /* a millisecond apart */

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
	if (!ow_mappings_read_code(pid, &maps, NULL)) {
		ow_remapped_settle(&maps);
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

/* The process has these from since on; as_of is when that was known. */
static struct ow_image *replace(struct ow_images *im, pid_t pid,
				struct ow_bpf_range *ranges, uint32_t nr,
				uint64_t since, uint64_t as_of)
{
	const struct ow_image *old = ow_images_of(im, pid);
	struct ow_image *image =
		ow_images_add(im, pid, ranges, nr, since, old ? old->id : 0);

	if (!image || !ow_images_give(im, pid, image, as_of))
		return NULL;
	ow_jitmaps_note(&im->jits, pid, ranges, nr);
	return image;
}

static bool is_same(const struct ow_image *image,
		    const struct ow_bpf_range *ranges, uint32_t nr)
{
	return image->nr == nr &&
	       memcmp(image->ranges, ranges, nr * sizeof(*ranges)) == 0;
}

struct ow_image *ow_images_look(struct ow_images *im, pid_t pid, bool *is_new)
{
	struct ow_image *image = ow_images_of(im, pid);
	uint64_t as_of = ow_now_ns(), told = as_of, looked;
	struct ow_image_user *user;
	struct ow_bpf_range *ranges;
	uint32_t nr;

	*is_new = false;
	ranges = list_ranges(im, pid, &nr);
	if (!ranges)
		return NULL;
	looked = ow_now_ns();
	if (image) /* else what came before doesn't matter */
		told = ow_images_user(im, pid)->told;
	if (ow_images_lives(im, pid) && is_same(image, ranges, nr)) {
		free(ranges);
	} else {
		image = replace(im, pid, ranges, nr, image ? looked : 0, as_of);
		if (!image)
			return NULL;
		*is_new = true;
	}
	user = ow_images_user(im, pid);
	user->as_of = as_of;
	user->told = told;
	user->looked = looked;
	return image;
}

struct ow_image *ow_images_find(struct ow_images *im, pid_t pid,
				struct ow_error *err)
{
	struct ow_image *image;
	bool is_new;
	int i;

	/* While exec replaces its program a process has no code. */
	for (i = 0; i < MOST_LOOKS; i++) {
		image = ow_images_look(im, pid, &is_new);
		if (image)
			return image;
		if (kill(pid, 0) && errno == ESRCH)
			break;
		usleep(1000);
	}
	ow_fail(err, OW_CODE_ABSENT, "no process %d, or it has no memory", pid);
	return NULL;
}

/* What a process is told to have done. */
struct change {
	uint64_t time;
	const struct ow_bpf_range *mapped; /* or NULL: by exec, all is gone */
};

static bool has_already(const struct ow_image *image, const struct change *c)
{
	return image && c->mapped && ow_image_has(image, c->mapped);
}

/* What there is after a change; to be freed, or NULL. */
static struct ow_bpf_range *apply(const struct ow_image *old,
				  const struct change *c, uint32_t *nr)
{
	struct ow_bpf_range *list;

	*nr = 0;
	list = calloc((old ? old->nr : 0) + 2, sizeof(*list));
	if (list && c->mapped)
		*nr = ow_image_insert(old, c->mapped, list);
	return list;
}

/*
 * An image with that change, which comes after another one; NULL if the old one has
 * it already, or there is no memory.
 */
static struct ow_image *add_changed(struct ow_images *im, pid_t pid,
				    const struct ow_image *old,
				    const struct change *c, uint64_t since,
				    uint32_t before)
{
	struct ow_bpf_range *list;
	uint32_t nr;

	if (has_already(old, c))
		return NULL;
	list = apply(old, c, &nr);
	return ow_images_add(im, pid, list, nr, since, before);
}

/*
 * What a look has found to be as before may have been otherwise between: then
 * what it is since the look is an image of its own.
 */
static bool part(struct ow_images *im, struct ow_image_user *user)
{
	const struct ow_image *old = ow_images_get(im, user->image);
	uint32_t nr = old->nr, before = old->id;
	struct ow_bpf_range *list = calloc(nr + 1, sizeof(*list));
	struct ow_image *image;

	if (list)
		memcpy(list, old->ranges, nr * sizeof(*list));
	image = ow_images_add(im, user->pid, list, nr, user->looked, before);
	if (image)
		ow_images_exchange(im, user, image);
	return image != NULL;
}

/* The process had it from then on, up to what has come later. */
static void insert_past(struct ow_images *im, pid_t pid, const struct change *c)
{
	const struct ow_image *old = ow_images_at(im, pid, c->time);
	uint32_t before = old->id;
	struct ow_image *later, *image;

	image = add_changed(im, pid, old, c, c->time, before);
	if (!image)
		return;
	later = ow_images_of(im, pid);
	while (later && later->before != before)
		later = ow_images_get(im, later->before);
	if (later)
		later->before = image->id;
}

/* The look that was taken at the time may not have seen it. */
static void change_latest(struct ow_images *im, struct ow_image_user *user,
			  const struct change *c)
{
	const struct ow_image *old = ow_images_get(im, user->image);
	struct ow_image *image =
		add_changed(im, user->pid, old, c, old->since, old->before);

	if (!image)
		return;
	ow_images_exchange(im, user, image);
	ow_jitmaps_note(&im->jits, user->pid, image->ranges, image->nr);
}

/* A change that is told after its process was looked at. */
static struct ow_image *change_late(struct ow_images *im,
				    struct ow_image_user *user,
				    const struct change *c)
{
	const struct ow_image *image = ow_images_get(im, user->image);
	bool is_seen = c->time <= user->as_of, is_parted = false;

	user->told = c->time;
	if (!is_seen)
		user->as_of = c->time;
	if (image->since <= c->time && !has_already(image, c)) {
		is_parted = part(im, user);
		if (!is_parted)
			return NULL;
	}
	insert_past(im, user->pid, c);
	if (!is_seen)
		change_latest(im, user, c);
	return is_parted || !is_seen ? ow_images_get(im, user->image) : NULL;
}

/* A change that is the process' last one. */
static struct ow_image *change_now(struct ow_images *im, pid_t pid,
				   const struct change *c)
{
	struct ow_image *old = ow_images_of(im, pid);
	struct ow_image_user *user;
	struct ow_bpf_range *list;
	uint32_t nr;

	if (has_already(old, c)) {
		user = ow_images_user(im, pid);
		user->as_of = user->told = c->time;
		return old;
	}
	list = apply(old, c, &nr);
	return replace(im, pid, list, nr, c->time, c->time);
}

static struct ow_image *change(struct ow_images *im, pid_t pid,
			       const struct change *c)
{
	struct ow_image_user *user = ow_images_user(im, pid);

	return user && c->time <= user->looked ? change_late(im, user, c) :
						 change_now(im, pid, c);
}

static bool is_told(const struct ow_images *im, pid_t pid, uint64_t time)
{
	const struct ow_image_user *user = ow_images_user(im, pid);

	return user && time <= user->told;
}

struct ow_image *ow_images_exec(struct ow_images *im, pid_t pid, uint64_t time)
{
	if (is_told(im, pid, time))
		return NULL;
	return change(im, pid, &(struct change){ .time = time });
}

struct ow_image *ow_images_map(struct ow_images *im, pid_t pid, uint64_t time,
			       const struct ow_mapping *map)
{
	struct ow_bpf_range r;

	if (is_told(im, pid, time))
		return NULL;
	fill_range(im, pid, map, &r);
	return change(im, pid, &(struct change){ .time = time, .mapped = &r });
}
