// SPDX-License-Identifier: BSD-2-Clause
/* What processes have mapped, as they are looked at, and as the kernel tells. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "delegate.h"
#include "deletednames.h"
#include "effort.h"
#include "error.h"
#include "identity.h"
#include "imagekin.h"
#include "imageshares.h"
#include "imageusers.h"
#include "leftout.h"
#include "monotonic.h"
#include "procfs.h"
#include "remapped.h"

#define MOST_LOOKS  100        /* a millisecond apart */
#define MOST_NOTED  (1U << 14) /* changes of a process that are followed */
#define REST_PART   16 /* of the time, at most, goes to looks at a process, */
#define AT_ONCE_NS  1600000000 /* but for those of so much time */
#define MOST_RANGES (1U << 22) /* of all images, 32 bytes each, */
#define FEW         1024       /* but for processes that have few */

#define CALL_NS      500000000   /* for the kernel to answer about a process, */
#define LESS_CALL_NS 50000000    /* or where that was waited for so often: */
#define MANY_SILENT  8           /* times at once, */
#define WAIT_PART    50          /* and this part of the time later */
#define LOOK_NS      4000000000  /* for all of a look */
#define SILENT_NS    60000000000 /* until it is asked about the process again */
#define UNASKED_NS   100000000   /* likewise, where we could not ask */

/* Waits for the kernel that were for nothing, in nanoseconds. */
static struct ow_effort waits =
	OW_EFFORT((int64_t)MANY_SILENT * CALL_NS, 1000000000 / WAIT_PART);

bool ow_images_must_end(const struct ow_images *im)
{
	return im->asked && *im->asked >= im->patience;
}

/* What a delegate asks of the kernel about a process; lost with the delegate. */
struct look {
	pid_t pid;
	pid_t live;    /* a thread of it whose /proc has the memory */
	bool has_list; /* the mappings are given, not asked for */
	bool failed;
	struct ow_error why; /* of a list that could not be had */
	long uid;            /* who answers for it; -1: it has ended */
	struct ow_mappings maps;
	struct ow_identity *files; /* of each mapping that has code */
};

/* A thread that has ended leaves its number to others. */
static bool is_of_process(const struct look *l)
{
	return l->live == l->pid ||
	       ow_status_number(l->live, "Tgid:") == l->pid;
}

/* Have another thread where that which was known has ended. */
static void find_live(struct look *l)
{
	if (!is_of_process(l))
		l->live = ow_tasks_other(l->pid);
	if (!l->live)
		l->live = l->pid;
}

static bool read_maps(struct look *l)
{
	pid_t other;

	if (ow_mappings_read_code(l->live, &l->maps, &l->why))
		return false;
	/* The first thread's memory goes when it ends, whoever else has it. */
	other = l->maps.nr ? 0 : ow_tasks_other(l->pid);
	if (other) {
		ow_mappings_close(&l->maps);
		ow_mappings_free(&l->maps);
		l->live = other;
		if (ow_mappings_read_code(other, &l->maps, &l->why))
			return false;
	}
	ow_remapped_settle(&l->maps);
	ow_deletednames_settle(&l->maps, l->live);
	ow_mappings_close(&l->maps);
	return is_of_process(l);
}

static void take_look(void *arg)
{
	struct look *l = arg;
	size_t i, nr = 0;

	find_live(l);
	if (!l->has_list && !read_maps(l)) {
		l->failed = true;
		return;
	}
	l->uid = ow_process_user(l->pid);
	l->files = calloc(l->maps.nr + 1, sizeof(*l->files));
	l->failed = !l->files;
	for (i = 0; l->files && i < l->maps.nr; i++)
		if (l->maps.list[i].executable && nr++ < OW_RECORD_MAPPINGS)
			l->files[i] = ow_sampledobjects_see(l->live,
							    &l->maps.list[i]);
}

static struct look *create_look(const struct ow_image_user *user)
{
	struct look *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	l->pid = user->pid;
	l->live = user->live;
	return l;
}

static void destroy_look(struct look *l)
{
	if (!l)
		return;
	ow_mappings_free(&l->maps);
	free(l->files);
	free(l);
}

/* What a process has mapped is not known. */
static void lose(pid_t pid, const char *why)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d", pid);
	ow_lose_file(path, why);
}

/* Leave a process out for a while. */
static void leave_out(struct ow_image_user *user, const char *why)
{
	user->silent_until = ow_now_ns() + SILENT_NS;
	lose(user->pid, why);
}

/* Likewise, but for less time, where no process could be started: see errno. */
static void note_unasked(struct ow_image_user *user)
{
	struct ow_error none;

	user->start_errno = errno;
	user->silent_until = ow_now_ns() + UNASKED_NS;
	ow_delegate_fail(&none);
	ow_lose_file("what processes have mapped", none.msg);
}

/* A look that is given the mappings; or NULL. */
static struct look *create_look_at(const struct ow_image_user *user,
				   const struct ow_mapping *list, size_t nr)
{
	struct look *l = create_look(user);
	size_t i;

	if (!l)
		return NULL;
	l->has_list = true;
	l->maps.list = calloc(nr + 1, sizeof(*list));
	for (i = 0; l->maps.list && i < nr; i++) {
		l->maps.list[i] = list[i];
		/* A look that is lost is left with what it has. */
		l->maps.list[i].path =
			ow_intern_add(&l->maps.names, list[i].path);
		if (!l->maps.list[i].path)
			break;
		l->maps.nr++;
	}
	if (l->maps.list && l->maps.nr == nr)
		return l;
	destroy_look(l);
	return NULL;
}

/* Have a look taken, which is the caller's then; or NULL, and it is none's. */
static struct look *have_look(struct ow_images *im, struct ow_image_user *user,
			      struct look *l)
{
	struct ow_delegate_limits limits = {
		.call_ns = ow_effort_left(&waits) ? CALL_NS : LESS_CALL_NS,
	};
	enum ow_delegation end;

	if (!l || ow_images_must_end(im) || ow_now_ns() < user->silent_until) {
		destroy_look(l);
		return NULL;
	}
	limits.until_ns = ow_now_ns() + LOOK_NS;
	end = ow_delegate_run(take_look, l, &limits, NULL);
	if (end == OW_DELEGATION_NONE)
		note_unasked(user);
	else
		user->start_errno = 0;
	if (end == OW_DELEGATION_DONE && !l->failed) {
		if (l->live != user->pid)
			ow_imageusers_behead(im, user, l->live);
		if (l->uid >= 0) {
			user->uid = (uid_t)l->uid;
			user->has_uid = true;
			user->uid_as_of = ow_now_ns();
		}
		return l;
	}
	if (end == OW_DELEGATION_GIVEN_UP || end == OW_DELEGATION_LOST) {
		/* Short ones go on as they are, however many there are. */
		if (limits.call_ns == CALL_NS)
			ow_effort_spend(&waits, CALL_NS);
		leave_out(user, "the kernel did not answer in time, as a "
				"program that is being executed, or the "
				"server of a file, keeps it waiting");
	}
	if (end == OW_DELEGATION_DONE && l->why.code == OW_CODE_TIMEOUT)
		leave_out(user, l->why.msg);
	if (end == OW_DELEGATION_DONE || end == OW_DELEGATION_NONE)
		destroy_look(l);
	return NULL;
}

/* Whose process it is; -1: nobody's in particular. */
static uid_t uid_of(const struct ow_image_user *user)
{
	return user->has_uid ? user->uid : (uid_t)-1;
}

/* May another object be opened for the process? */
static bool may_open(struct ow_images *im, struct ow_image_user *user)
{
	return user->nr_opened < OW_RECORD_FILES &&
	       ow_imageshares_may_open(im, uid_of(user));
}

/* What was opened so far: objects, and files that have one's number. */
static size_t nr_opened(const struct ow_sampledobjects *o)
{
	return o->all->nr_modules + o->nr_aliases;
}

static uint32_t number_of(struct ow_images *im, struct ow_image_user *user,
			  const struct ow_mapping *map,
			  const struct ow_identity *seen)
{
	size_t before = nr_opened(im->objects);
	uint32_t number;

	/* At the end nothing is opened any more; what is known has its number. */
	im->objects->is_full = ow_images_must_end(im) || !may_open(im, user);
	number = ow_sampledobjects_number(im->objects, user->live, map, seen);
	im->objects->is_full = false;
	if (nr_opened(im->objects) == before)
		return number;
	ow_imageshares_opened(im, uid_of(user));
	user->nr_opened++;
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
					struct look *new, uint32_t *nr_ret)
{
	struct look *l = have_look(im, user, new);
	struct ow_bpf_range *list = NULL;
	const struct ow_mapping *maps;
	struct ow_bpf_range *r;
	uint32_t nr = 0;
	size_t i, nr_maps;

	*nr_ret = 0;
	if (!l)
		return NULL;
	ow_imageshares_looked(im, uid_of(user), l->maps.nr);
	im->nr_listed += l->maps.nr;
	maps = l->maps.list;
	nr_maps = l->maps.nr;
	for (i = 0; i < nr_maps; i++)
		nr += maps[i].executable;
	list = nr ? calloc(nr, sizeof(*list)) : NULL;
	if (nr > OW_RECORD_MAPPINGS) {
		*nr_ret = nr;
		nr_maps = 0;
	}
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
	destroy_look(l);
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
	if (from && is_same(from, ranges, nr)) {
		free(ranges);
		return from;
	}
	if (nr > OW_RECORD_MAPPINGS ||
	    (nr > FEW && im->nr_ranges + nr > MOST_RANGES)) {
		free(ranges);
		return from && ow_image_is_full(from) ? from :
							add_full(im, user);
	}
	return ow_images_add(im, user->pid, ranges, nr);
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
	ranges = list_ranges(im, user,
			     maps ? create_look_at(user, maps, nr_maps) :
				    create_look(user),
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

struct ow_image *ow_images_look_again(struct ow_images *im, pid_t pid)
{
	const struct ow_image_user *user = ow_images_user(im, pid);
	bool is_new;

	/* A program that starts maps its libraries one after another. */
	if (user && !user->is_gone &&
	    ow_now_ns() + AT_ONCE_NS < user->looked_until)
		return NULL;
	if (!ow_imageshares_may_look(im, ow_images_uid(im, pid))) {
		lose(pid, "its user's processes have more mapped than is "
			  "looked at at once");
		return NULL;
	}
	return ow_images_look(im, pid, &is_new);
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
		image = ow_images_look(im, pid, &is_new);
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
 * the log.  Return how many files there are.
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
		first[n++] = i;
	}
	return n;
}

/* See what the files of some mappings are, by a look; or NULL. */
static struct look *see_files(struct ow_images *im, struct ow_image_user *user,
			      const uint32_t *first, uint32_t n)
{
	struct ow_mapping *list = calloc((size_t)n + 1, sizeof(*list));
	struct look *l = list ? create_look(user) : NULL;
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
	return have_look(im, user, l);
}

/* Number each file once, though it may be mapped again and again. */
static void number_files(struct ow_images *im, struct ow_image_user *user,
			 const uint32_t *first, uint32_t n)
{
	static const struct ow_identity unknown;
	struct look *l = n ? see_files(im, user, first, n) : NULL;
	struct ow_mapping map;
	uint32_t i;

	for (i = 0; i < n; i++) {
		map = mapping_of(&user->log[first[i]]);
		user->log[first[i]].file->number =
			number_of(im, user, &map, l ? &l->files[i] : &unknown);
	}
	destroy_look(l);
}

/* Open the file of a mapping that was told of. */
static void open_file(struct ow_images *im, struct ow_image_change *c)
{
	const struct ow_mapping map = mapping_of(c);

	fill_range(im, &map, c->file->number, &c->range);
	ow_imagefile_leave(c->file);
	c->file = NULL;
}

/* Open the files of mappings among the first changes, that were made after a time. */
static void open_files(struct ow_images *im, struct ow_image_user *user,
		       uint64_t since, uint32_t nr)
{
	uint32_t *first = calloc((size_t)nr + 1, sizeof(*first)), i;

	if (!first)
		return;
	number_files(im, user, first, list_files(im, user, since, nr, first));
	for (i = 0; i < nr; i++)
		if (is_to_open(&user->log[i], since))
			open_file(im, &user->log[i]);
	free(first);
}

/*
 * The mappings among the first changes that were made after a time, and after the
 * last exec, flat; room for what may come before them.
 */
static struct ow_bpf_range *collect(struct ow_images *im,
				    struct ow_image_user *user, uint64_t since,
				    uint32_t nr, struct ow_image_list *ret)
{
	struct ow_bpf_range *maps = calloc(2 * (size_t)nr + 1, sizeof(*maps));
	int64_t left;
	uint32_t i;

	ret->nr = 0;
	if (maps)
		open_files(im, user, since, nr);
	for (i = 0; maps && i < nr; i++)
		if (is_mapping(&user->log[i], since))
			maps[ret->nr++] = user->log[i].range;
	left = maps ? ow_image_flatten(maps, ret->nr) : -1;
	if (left < 0) {
		free(maps);
		return NULL;
	}
	ret->all = maps;
	ret->nr = (uint32_t)left;
	return maps;
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

struct ow_image *ow_imagechanges_apply(struct ow_images *im,
				       struct ow_image_user *user,
				       struct ow_image *from, uint64_t since,
				       uint32_t nr)
{
	uint64_t exec = last_exec(user, since, nr);
	struct ow_image_list old = { 0 }, maps = { 0 };
	struct ow_bpf_range *ranges;
	struct ow_image *image;

	if (exec) {
		since = exec;
		from = NULL;
	}
	if (from && ow_image_is_full(from))
		return from;
	if (!collect(im, user, since, nr, &maps))
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
	if (user->nr >= MOST_NOTED) {
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
