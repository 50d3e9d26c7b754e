// SPDX-License-Identifier: BSD-2-Clause
#include "bpfknown.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "bpfload.h"
#include "error.h"
#include "sampler.skel.h"

int ow_bpfknown_init(struct ow_bpfengine *e, struct ow_error *err)
{
	void *at = mmap(NULL, OW_BPF_RANGES * sizeof(*e->ranges),
			PROT_READ | PROT_WRITE, MAP_SHARED,
			bpf_map__fd(e->skel->maps.ranges), 0);

	if (at == MAP_FAILED)
		return ow_fail(err, OW_CODE_SYSTEM, "mmap of a BPF map");
	e->ranges = at;
	return 0;
}

void ow_bpfknown_deinit(struct ow_bpfengine *e)
{
	if (e->ranges)
		munmap(e->ranges, OW_BPF_RANGES * sizeof(*e->ranges));
	free(e->changed);
}

/* Load one of the tables that an image needs; false if all are there. */
static bool load_one(struct ow_bpfengine *e, const struct ow_image *image)
{
	uint32_t i;

	for (i = 0; i < image->nr; i++)
		if (ow_bpftables_prepare(&e->tables, image->ranges[i].object))
			return true;
	return false;
}

/* The process' list of mappings, once their tables are there. */
static void publish(struct ow_recorder *r, pid_t pid, struct ow_image *image)
{
	struct ow_bpfengine *e = r->priv;
	struct ow_bpf_process p;
	uint32_t key = (uint32_t)pid;

	ow_bpftables_flush(&e->tables);
	if (!image->is_placed) {
		if (!ow_images_place(&r->images, image))
			return;
		memcpy(e->ranges + image->first, image->ranges,
		       image->nr * sizeof(*image->ranges));
	}
	p = (struct ow_bpf_process){ image->id, image->first, image->nr, 0,
				     ow_images_as_of(&r->images, pid) };
	bpf_map_update_elem(bpf_map__fd(e->skel->maps.processes), &key, &p,
			    BPF_ANY);
}

static bool look(struct ow_recorder *r, pid_t pid)
{
	struct ow_image *image;
	bool is_new;

	image = ow_images_look(&r->images, pid, &is_new);
	while (image && load_one(r->priv, image))
		;
	if (image)
		publish(r, pid, image);
	return image;
}

static bool is_wanted(void *arg, pid_t pid)
{
	struct ow_bpfengine *e = ((struct ow_recorder *)arg)->priv;
	uint32_t key = (uint32_t)pid, one;

	/* Targets that have ended are none any more, but known. */
	return e->skel->rodata->everyone ||
	       ow_images_of(&((struct ow_recorder *)arg)->images, pid) ||
	       !bpf_map_lookup_elem(bpf_map__fd(e->skel->maps.targets), &key,
				    &one);
}

void ow_bpfknown_note(void *arg, pid_t pid)
{
	struct ow_bpfengine *e = ((struct ow_recorder *)arg)->priv;
	pid_t *more;
	size_t i;

	for (i = 0; i < e->nr_changed; i++)
		if (e->changed[i] == pid)
			return;
	if (e->nr_changed == e->room_changed) {
		more = realloc(e->changed,
			       (2 * e->room_changed + 64) * sizeof(*more));
		if (!more)
			return;
		e->changed = more;
		e->room_changed = 2 * e->room_changed + 64;
	}
	e->changed[e->nr_changed++] = pid;
}

void ow_bpfknown_want(struct ow_recorder *r, pid_t pid)
{
	struct ow_bpfengine *e = r->priv;
	size_t i;

	ow_bpfknown_note(r, pid);
	for (i = 0; i < e->nr_changed; i++)
		if (e->changed[i] == pid)
			break;
	if (i == e->nr_changed)
		return;
	memmove(e->changed + 1, e->changed, i * sizeof(*e->changed));
	e->changed[0] = pid;
}

void ow_bpfknown_follow(struct ow_recorder *r)
{
	struct ow_bpfengine *e = r->priv;

	ow_lives_apply(&e->lives, &r->images, is_wanted, ow_bpfknown_note, r);
}

void ow_bpfknown_ask(struct ow_bpfengine *e, uint32_t object)
{
	uint32_t i;

	for (i = 0; i < e->nr_asked; i++)
		if (e->asked[i] == object)
			return;
	/* Who doesn't fit in is asked for again. */
	if (e->nr_asked < OW_ARRAY_SIZE(e->asked))
		e->asked[e->nr_asked++] = object;
}

static void load_asked(struct ow_bpfengine *e)
{
	uint32_t i;

	for (i = 0; i < e->nr_asked; i++)
		ow_bpftables_load(&e->tables, e->asked[i]);
	ow_bpftables_flush(&e->tables);
	e->nr_asked = 0;
}

/* Tell the kernel of one whose mappings changed, if it still runs. */
bool ow_bpfknown_tell(struct ow_recorder *r)
{
	struct ow_bpfengine *e = r->priv;
	struct ow_image *image;
	uint64_t since;
	pid_t pid;

	load_asked(e);
	if (e->nr_changed == 0)
		return false;
	pid = e->changed[0];
	image = ow_images_of(&r->images, pid);
	/* A large one may take its time; what comes is looked at meanwhile. */
	if (image && image->users && load_one(e, image))
		return true;
	memmove(e->changed, e->changed + 1,
		--e->nr_changed * sizeof(*e->changed));
	if (!image || image->nr == 0 || !image->users)
		return true;
	since = image->since;
	publish(r, pid, image);
	since = ow_recorder_now() - since;
	if (image->since && since > r->stats.slowest_ns)
		r->stats.slowest_ns = since;
	return true;
}

int ow_bpfknown_add(struct ow_recorder *r, pid_t pid, struct ow_error *err)
{
	struct ow_bpfengine *e = r->priv;
	uint32_t key = (uint32_t)pid, one = 1;

	if (bpf_map_update_elem(bpf_map__fd(e->skel->maps.targets), &key, &one,
				BPF_ANY))
		return ow_bpfload_refuse(err, "too many processes");
	if (look(r, pid))
		return 0;
	return ow_fail(err, OW_CODE_ABSENT,
		       "no process %d, or it has no memory", pid);
}

/* What all processes have mapped, and its tables. */
static void look_at_all(struct ow_recorder *r, DIR *dir)
{
	const struct dirent *d;
	struct ow_image *image;
	bool is_new;
	int pid;

	while ((d = readdir(dir)) != NULL) {
		pid = atoi(d->d_name);
		image = pid > 0 ? ow_images_look(&r->images, pid, &is_new) :
				  NULL;
		while (image && load_one(r->priv, image))
			;
		if (image)
			ow_bpfknown_note(r, pid);
	}
}

void ow_bpfknown_add_all(struct ow_recorder *r)
{
	DIR *dir = opendir("/proc");

	if (!dir)
		return;
	look_at_all(r, dir);
	closedir(dir);
	while (ow_bpfknown_tell(r))
		;
}
