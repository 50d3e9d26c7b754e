// SPDX-License-Identifier: BSD-2-Clause
/* What processes have mapped, as they are looked at, and as the kernel tells. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "delegate.h"
#include "error.h"
#include "identity.h"
#include "imagekin.h"
#include "imagelook.h"
#include "imageshares.h"
#include "imageusers.h"
#include "monotonic.h"
#include "procfs.h"

#define MOST_LOOKS 100 /* a millisecond apart */
#define REST_PART  16  /* of the time, at most, goes to looks at a process, */
#define AT_ONCE_NS 1600000000 /* but for those of so much time */
#define FIRST_NS   50000000   /* of a process's first look is free */
#define QUICK      64 /* changes and ranges: an image of them takes no time */
#define KNOWN_NS   1000000000 /* what a look has shown is taken to be so still */

bool ow_images_must_end(const struct ow_images *im)
{
	return im->asked && *im->asked >= im->patience;
}

/* What was opened so far: objects, and files that have one's number. */
static size_t nr_opened(const struct ow_sampledobjects *o)
{
	return ow_objectnumbers_nr(&o->numbers) + o->nr_aliases;
}

static uint32_t number_of(struct ow_images *im, struct ow_image_user *user,
			  const struct ow_mapping *map,
			  const struct ow_identity *seen)
{
	size_t before = nr_opened(im->objects);
	uid_t uid = ow_imageusers_uid(im, user);
	uint32_t number;

	/* At the end nothing is opened any more; what is known has its number. */
	im->objects->is_full = ow_images_must_end(im) ||
			       !ow_imageshares_may_open(im, uid, user);
	im->objects->user = uid;
	number = ow_sampledobjects_number(im->objects, user->live, map, seen);
	im->objects->is_full = false;
	if (nr_opened(im->objects) == before)
		return number;
	ow_imageshares_opened(im, uid, user);
	return number;
}

/* Fill what a mapping of an object, or of none that there is room for, comes to. */
static void fill_range(struct ow_images *im, const struct ow_mapping *map,
		       uint32_t number, struct ow_bpf_range *r)
{
	const struct ow_object *obj;
	uint64_t bias = 0;

	r->object = number;
	r->mapped = r->object ? r->object : OW_BPF_NO_ROOM;
	im->nr_refused += r->object == 0 && !ow_images_must_end(im);
	obj = ow_sampledobjects_get(im->objects, r->object);
	if (!obj || !ow_object_bias(obj, map->start,
				    ow_identity_is_file(map->dev, map->inode) ?
					    map->off :
					    0,
				    &bias))
		r->object = 0;
	r->bias = bias;
}

/* More than one process may have: it is told nothing of, and so is said. */
static struct ow_image *add_full(struct ow_images *im,
				 struct ow_image_user *user)
{
	im->nr_full += !user->is_full;
	user->is_full = true;
	return ow_images_add_full(im, user->pid);
}

/* All that a process has mapped with code in it; NULL if there is nothing. */
static struct ow_bpf_range *list_ranges(struct ow_images *im,
					struct ow_image_user *user,
					struct ow_imagelook *new,
					uint32_t *nr_ret)
{
	struct ow_imagelook *l = ow_imagelook_have(im, user, new);
	struct ow_bpf_range *list = NULL;
	const struct ow_mapping *maps;
	struct ow_bpf_range *r;
	uint32_t nr = 0;
	size_t i, nr_maps;

	*nr_ret = 0;
	if (!l)
		return NULL;
	ow_imageshares_looked(im, ow_imageusers_uid(im, user), l->maps.nr);
	maps = l->maps.list;
	nr_maps = l->maps.nr;
	for (i = 0; i < nr_maps; i++)
		nr += maps[i].executable;
	list = nr ? calloc(nr, sizeof(*list)) : NULL;
	if (nr > OW_RECORD_MAPPINGS) {
		*nr_ret = nr;
		nr_maps = 0;
	}
	im->objects->began = 0;
	for (i = 0; list && i < nr_maps; i++) {
		if (!maps[i].executable)
			continue;
		r = &list[(*nr_ret)++];
		*r = (struct ow_bpf_range){ .start = maps[i].start,
					    .end = maps[i].end };
		if (ow_mapping_is_object(&maps[i]))
			fill_range(im, &maps[i],
				   number_of(im, user, &maps[i], &l->files[i]),
				   r);
	}
	ow_imagelook_destroy(l);
	return list;
}

static bool is_same(const struct ow_image *image,
		    const struct ow_bpf_range *ranges, uint32_t nr)
{
	return image->nr == nr &&
	       (nr == 0 ||
		memcmp(image->ranges, ranges, nr * sizeof(*ranges)) == 0);
}

/* The image of ranges, which are its own then: that one if it has them. */
static struct ow_image *make_image(struct ow_images *im,
				   struct ow_image_user *user,
				   struct ow_bpf_range *ranges, uint32_t nr,
				   struct ow_image *from)
{
	struct ow_image *image;
	uid_t uid;

	if (from && is_same(from, ranges, nr)) {
		free(ranges);
		return from;
	}
	uid = ow_imageusers_uid(im, user);
	if (nr > OW_RECORD_MAPPINGS || !ow_imageshares_may_map(im, uid, nr)) {
		free(ranges);
		return from && ow_image_is_full(from) ? from :
							add_full(im, user);
	}
	image = ow_images_add(im, user->pid, ranges, nr);
	ow_imageshares_mapped(im, uid, image);
	return image;
}

/* Note what a look has shown: from the beginning on, or from now on. */
static bool note_look(struct ow_images *im, struct ow_image_user *user,
		      struct ow_image *image, uint64_t as_of)
{
	struct ow_image_change c = {
		.event = OW_IMAGE_LOOK,
		.image = image,
		.as_of = as_of,
	};

	user->as_of = user->looked = as_of;
	if (!user->base && user->nr == 0 && !user->is_unheeded) {
		user->told = as_of;
		ow_imageusers_begin(im, user, image);
		return true;
	}
	user->is_unheeded = false;
	c.time = ow_now_ns();
	ow_images_hold(im, image);
	return ow_imageusers_note(im, user, &c);
}

/* ow_images_look(), or if maps isn't NULL ow_images_show(). */
static struct ow_image *look(struct ow_images *im, pid_t pid,
			     const struct ow_mapping *maps, size_t nr_maps,
			     bool *is_new)
{
	struct ow_image_user *user = ow_images_user(im, pid);
	uint64_t as_of = ow_now_ns();
	struct ow_image *image, *before = NULL;
	struct ow_bpf_range *ranges;
	uint32_t nr;

	*is_new = false;
	if (ow_images_must_end(im))
		return NULL;
	if (!user || user->is_gone)
		user = ow_imageusers_add(im, pid, user ? as_of : 0);
	if (!user)
		return NULL;
	ranges =
		list_ranges(im, user,
			    maps ? ow_imagelook_create_at(user, maps, nr_maps) :
				   ow_imagelook_create(user),
			    &nr);
	if (user->looked_until < as_of)
		user->looked_until = as_of;
	user->looked_until += REST_PART * (ow_now_ns() - as_of);
	if (!ranges) {
		/* It has ended, or is about to. */
		if (!user->base && user->nr == 0 && !user->silent_until)
			ow_images_end(im, pid, as_of + 1);
		return NULL;
	}
	if (!user->is_unheeded)
		before = ow_imageusers_image(im, user, user->nr);
	image = make_image(im, user, ranges, nr, before);
	if (!image || !note_look(im, user, image, as_of))
		return NULL;
	*is_new = image != before;
	return image;
}

struct ow_image *ow_images_look(struct ow_images *im, pid_t pid, bool *is_new)
{
	return look(im, pid, NULL, 0, is_new);
}

struct ow_image *ow_images_show(struct ow_images *im, pid_t pid,
				const struct ow_mapping *list, size_t nr)
{
	bool is_new;

	return look(im, pid, list, nr, &is_new);
}

/* As ow_images_look_again(); *is_new as ow_images_look() has it. */
static struct ow_image *look_again(struct ow_images *im, pid_t pid,
				   bool *is_new)
{
	const struct ow_image_user *user = ow_images_user(im, pid);
	uint64_t begun = ow_now_ns(), took, needs = user ? user->look_needs : 0;
	struct ow_image *image;

	*is_new = false;
	/* A program that starts maps its libraries one after another. */
	if (user && !user->is_gone &&
	    ow_now_ns() + AT_ONCE_NS < user->looked_until)
		return NULL;
	if (!ow_imageshares_may_look_for(im, ow_images_uid(im, pid), needs))
		return NULL;
	image = ow_images_look(im, pid, is_new);
	took = ow_now_ns() - begun;
	/* The first look at a process is one that each process gets. */
	if (!user)
		took -= took < FIRST_NS ? took : FIRST_NS;
	if (took)
		ow_imageshares_spent(im, ow_images_uid(im, pid), took);
	return image;
}

struct ow_image *ow_images_look_again(struct ow_images *im, pid_t pid)
{
	bool is_new;

	return look_again(im, pid, &is_new);
}

/*
 * Return true if a look has shown, not long before that time, what the process had.  One
 * that had just begun then may have executed a program meanwhile.
 */
static bool is_known_lately(const struct ow_images *im, pid_t pid,
			    uint64_t time)
{
	const struct ow_image_user *user = ow_images_user(im, pid);

	return user->looked && time < user->looked + KNOWN_NS &&
	       user->added + KNOWN_NS < user->looked;
}

struct ow_image *ow_images_sampled(struct ow_images *im, pid_t pid,
				   uint64_t time)
{
	const struct ow_image_user *user = ow_imageusers_at(im, pid, time);
	struct ow_image *known = ow_images_at(im, pid, time), *now;
	bool was_there = ow_images_lives(im, pid), is_new;

	/* By now the number may be another process's. */
	if (user && user->is_gone && time <= user->ended)
		return known;
	now = look_again(im, pid, &is_new);
	if (!was_there) /* or the number was another's */
		return now;
	if (!known || ow_image_is_full(known) || now == known)
		return ow_images_at(im, pid, time);
	if (!now)
		return is_known_lately(im, pid, time) ? known :
							ow_images_unknown(im);
	if (is_new)
		ow_imageusers_forget_past(im, ow_images_user(im, pid));
	return ow_images_at(im, pid, time);
}

static bool is_silent(const struct ow_images *im, pid_t pid)
{
	const struct ow_image_user *user = ow_images_user(im, pid);

	return user && user->silent_until;
}

static struct ow_image *fail_silent(const struct ow_images *im, pid_t pid,
				    struct ow_error *err)
{
	const struct ow_image_user *user = ow_images_user(im, pid);

	errno = user->start_errno;
	if (errno) {
		ow_delegate_fail(err);
		return NULL;
	}
	ow_fail(err, OW_CODE_TIMEOUT,
		"process %d can't be looked at: the kernel did not answer in "
		"time",
		pid);
	return NULL;
}

struct ow_image *ow_images_find(struct ow_images *im, pid_t pid,
				struct ow_error *err)
{
	struct ow_image *image;
	bool is_new;
	int i;

	/* While exec replaces its program a process has no code. */
	for (i = 0; i < MOST_LOOKS; i++) {
		im->is_wanted = true;
		image = ow_images_look(im, pid, &is_new);
		im->is_wanted = false;
		if (image)
			return image;
		if (kill(pid, 0) && errno == ESRCH)
			break;
		if (is_silent(im, pid))
			return fail_silent(im, pid, err);
		if (ow_images_must_end(im)) {
			ow_fail(err, OW_CODE_TIMEOUT,
				"process %d was not looked at: interrupted",
				pid);
			return NULL;
		}
		usleep(1000);
	}
	ow_task_fail_no_memory(pid, err);
	/* Whatever it is, no other way of recording has it. */
	if (err)
		err->code = OW_CODE_ABSENT;
	return NULL;
}

static struct ow_mapping mapping_of(const struct ow_image_change *c)
{
	return (struct ow_mapping){
		.start = c->range.start,
		.end = c->range.end,
		.off = c->range.bias,
		.dev = c->file->dev,
		.inode = c->file->inode,
		.executable = true,
		.path = c->file->path,
	};
}

/* Return true if a change is a mapping after that time. */
static bool is_mapping(const struct ow_image_change *c, uint64_t since)
{
	return c->event == OW_IMAGE_MAP && c->time > since;
}

/* Return true if it is one of a file that is to be opened. */
static bool is_to_open(const struct ow_image_change *c, uint64_t since)
{
	return is_mapping(c, since) && c->file;
}

/*
 * Fill first with the first mapping of each file that is to be opened, as it stands in
 * the log, and number the files so.  Return how many there are.
 */
static uint32_t list_files(struct ow_images *im,
			   const struct ow_image_user *user, uint64_t since,
			   uint32_t nr, uint32_t *first)
{
	struct ow_image_file *f;
	uint32_t i, n = 0;

	im->nr_openings++;
	for (i = 0; i < nr; i++) {
		f = is_to_open(&user->log[i], since) ? user->log[i].file : NULL;
		if (!f || f->opening == im->nr_openings)
			continue;
		f->opening = im->nr_openings;
		f->number = n;
		first[n++] = i;
	}
	return n;
}

/* Stands for a file that is not open yet: the others are numbers of objects. */
#define UNOPENED (1U << 31)

/*
 * What the mappings among the first changes come to.  Those of files that aren't open yet
 * have these files' numbers, or none if with_files isn't set.  Return false without memory;
 * else maps->all is the caller's.
 */
static bool flatten(const struct ow_image_user *user, uint64_t since,
		    uint32_t nr, bool with_files, struct ow_image_list *maps)
{
	const struct ow_image_change *c = user->log, *end = c + nr;
	struct ow_bpf_range *r;

	*maps = (struct ow_image_list){ calloc((size_t)nr + 1, sizeof(*r)), 0 };
	for (; maps->all && c < end; c++) {
		if (!is_mapping(c, since))
			continue;
		r = &maps->all[maps->nr++];
		*r = c->range;
		if (!c->file)
			continue;
		/* Mappings of equal code are one. */
		r->bias = r->start - r->bias;
		r->mapped = OW_BPF_NO_ROOM;
		if (with_files)
			r->object = UNOPENED | c->file->number;
	}
	if (maps->all && ow_image_flatten(maps))
		return true;
	free(maps->all);
	*maps = (struct ow_image_list){ NULL, 0 };
	return false;
}

/*
 * Leave those of n files in first of which something is still mapped after all of these
 * changes: only they are of use.  Return how many there are.
 */
static uint32_t keep_mapped(struct ow_images *im, struct ow_image_user *user,
			    uint64_t since, uint32_t nr, uint32_t *first,
			    uint32_t n)
{
	struct ow_image_list maps;
	struct ow_image_file *f;
	uint32_t kept = 0, i;

	im->nr_openings++;
	flatten(user, since, nr, true, &maps);
	for (i = 0; i < maps.nr; i++) {
		if (!(maps.all[i].object & UNOPENED))
			continue;
		f = user->log[first[maps.all[i].object & ~UNOPENED]].file;
		f->opening = im->nr_openings;
	}
	free(maps.all);
	for (i = 0; i < n; i++)
		if (user->log[first[i]].file->opening == im->nr_openings)
			first[kept++] = first[i];
	return kept;
}

/* See what the files of some mappings are, by a look; or NULL. */
static struct ow_imagelook *see_files(struct ow_images *im,
				      struct ow_image_user *user,
				      const uint32_t *first, uint32_t n)
{
	struct ow_mapping *list = calloc((size_t)n + 1, sizeof(*list));
	struct ow_imagelook *l = list ? ow_imagelook_create(user) : NULL;
	uint32_t i;

	if (!l) {
		free(list);
		return NULL;
	}
	for (i = 0; i < n; i++)
		list[i] = mapping_of(&user->log[first[i]]);
	l->has_list = true;
	l->maps.list = list;
	l->maps.nr = n;
	return ow_imagelook_have(im, user, l);
}

/* Number each file once, though it may be mapped again and again. */
static void number_files(struct ow_images *im, struct ow_image_user *user,
			 const uint32_t *first, uint32_t n)
{
	static const struct ow_identity unknown;
	struct ow_imagelook *l;
	struct ow_mapping map;
	uint32_t i;

	if (n == 0)
		return;
	l = see_files(im, user, first, n);
	im->objects->began = 0;
	for (i = 0; i < n; i++) {
		map = mapping_of(&user->log[first[i]]);
		user->log[first[i]].file->number =
			number_of(im, user, &map, l ? &l->files[i] : &unknown);
	}
	ow_imagelook_destroy(l);
}

/* Open the file of a mapping that was told of. */
static void open_file(struct ow_images *im, struct ow_image_user *user,
		      struct ow_image_change *c)
{
	const struct ow_mapping map = mapping_of(c);

	fill_range(im, &map, c->file->number, &c->range);
	ow_imageusers_leave_file(im, user, c);
}

/*
 * Open the files of mappings among the first changes, that were made after a time, as far
 * as these are still mapped after the last one.  Return false if there is no time, or
 * memory, for that now.
 */
static bool open_files(struct ow_images *im, struct ow_image_user *user,
		       uint64_t since, uint32_t nr)
{
	uint32_t *first = calloc((size_t)nr + 1, sizeof(*first)), i, n;
	struct ow_image_change *c;

	if (!first)
		return false;
	n = list_files(im, user, since, nr, first);
	if (n && !ow_imageshares_may_look(im, ow_imageusers_uid(im, user))) {
		free(first);
		return false;
	}
	n = n ? keep_mapped(im, user, since, nr, first, n) : 0;
	number_files(im, user, first, n);
	for (i = 0; i < nr; i++) {
		c = &user->log[i];
		if (is_to_open(c, since) && c->file->opening == im->nr_openings)
			open_file(im, user, c);
	}
	free(first);
	return true;
}

/* When the last exec was among the first changes, after a time; or 0. */
static uint64_t last_exec(const struct ow_image_user *user, uint64_t since,
			  uint32_t nr)
{
	while (nr > 0) {
		nr--;
		if (user->log[nr].event == OW_IMAGE_EXEC &&
		    user->log[nr].time > since)
			return user->log[nr].time;
	}
	return 0;
}

static struct ow_image *apply(struct ow_images *im, struct ow_image_user *user,
			      struct ow_image *from, uint64_t since,
			      uint32_t nr)
{
	uint64_t exec = last_exec(user, since, nr);
	struct ow_image_list old = { 0 }, maps;
	struct ow_bpf_range *ranges;
	struct ow_image *image;

	if (exec) {
		since = exec;
		from = NULL;
	}
	if (from && ow_image_is_full(from))
		return from;
	if (nr + (from ? from->nr : 0) > QUICK &&
	    !ow_imageshares_may_spend(im, ow_imageusers_uid(im, user)))
		return NULL;
	if (!open_files(im, user, since, nr) ||
	    !flatten(user, since, nr, false, &maps))
		return NULL;
	if (from)
		old = (struct ow_image_list){ from->ranges, from->nr };
	ranges = calloc(old.nr + 2 * (size_t)maps.nr + 1, sizeof(*ranges));
	if (!ranges) {
		free(maps.all);
		return NULL;
	}
	image = make_image(im, user, ranges,
			   ow_image_overlay(&old, &maps, ranges), from);
	free(maps.all);
	return image;
}

struct ow_image *ow_imagechanges_apply(struct ow_images *im,
				       struct ow_image_user *user,
				       struct ow_image *from, uint64_t since,
				       uint32_t nr)
{
	uint64_t begun = ow_now_ns();
	struct ow_image *image = apply(im, user, from, since, nr);

	ow_imageshares_spent(im, ow_imageusers_uid(im, user),
			     ow_now_ns() - begun);
	return image;
}

/* The process that something is told of, unless that is known; or NULL. */
static struct ow_image_user *told_of(struct ow_images *im, pid_t pid,
				     uint64_t time)
{
	struct ow_image_user *user = ow_images_user(im, pid);

	if (user && time <= user->told)
		return NULL;
	if (!user || (user->is_gone && time > user->ended))
		user = ow_imageusers_add(im, pid, user ? time : 0);
	return user;
}

/* Note a change.  True if the process may have another image by it now. */
static bool note(struct ow_images *im, struct ow_image_user *user,
		 const struct ow_image_change *c)
{
	user->told = c->time;
	if (user->as_of < c->time)
		user->as_of = c->time;
	return ow_imageusers_note(im, user, c) && c->time > user->looked;
}

bool ow_images_exec(struct ow_images *im, pid_t pid, uint64_t time)
{
	const struct ow_image_change c = { .time = time,
					   .event = OW_IMAGE_EXEC };
	struct ow_image_user *user = told_of(im, pid, time);

	if (!user)
		return false;
	ow_jitmaps_exec(&im->jits, pid);
	ow_imagekin_leave(user);
	user->live = pid;
	user->headless = 0;
	user->execed = time;
	user->has_vdso = 0;
	user->is_full = false;
	user->is_unheeded = false;
	return note(im, user, &c);
}

bool ow_images_map(struct ow_images *im, pid_t pid, uint64_t time,
		   const struct ow_mapping *map)
{
	struct ow_image_user *user;
	struct ow_image_change c = {
		.time = time,
		.event = OW_IMAGE_MAP,
		.range = { .start = map->start, .end = map->end },
	};

	user = map->start < map->end ? told_of(im, pid, time) : NULL;
	if (!user || user->is_unheeded)
		return false;
	if (!ow_imageusers_has_room(im, user)) {
		ow_imageusers_forget(im, user);
		return false;
	}
	if (ow_mapping_is_object(map)) {
		if (!ow_identity_is_file(map->dev, map->inode))
			user->has_vdso = time;
		c.file = ow_imagefile_get(im, map);
		c.range.bias = map->off;
		if (!c.file)
			return false;
	}
	return note(im, user, &c);
}
