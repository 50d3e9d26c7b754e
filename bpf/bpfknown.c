// SPDX-License-Identifier: BSD-2-Clause
#include "bpfknown.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bpfload.h"
#include "error.h"
#include "monotonic.h"
#include "sampler.skel.h"

/* An image whose tables may not all have been there when it was told of. */
struct ow_bpfawaited {
	uint32_t image;
	uint64_t told; /* CLOCK_MONOTONIC, ns */
};

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
	free(e->awaited);
}

/* Have the tables made that an image needs. */
static void prepare(struct ow_bpfengine *e, const struct ow_image *image,
		    bool lazily)
{
	uint32_t i;

	for (i = 0; i < image->nr; i++)
		ow_bpftables_prepare(&e->tables, image->ranges[i].object,
				     lazily);
}

/* What the programs have looked up of processes is to be looked up again. */
static void count_change(struct ow_bpfengine *e)
{
	__atomic_fetch_add(&e->skel->bss->lives, 1, __ATOMIC_SEQ_CST);
}

/* The process' list of mappings; whose table isn't there yet is waited for. */
static void publish(struct ow_recorder *r, pid_t pid, struct ow_image *image,
		    bool lazily)
{
	struct ow_bpfengine *e = r->priv;
	struct ow_bpf_process p;
	uint32_t key = (uint32_t)pid;

	prepare(e, image, lazily);
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
	count_change(e);
}

/* It has ended, maybe before it was told of: its number may be another's. */
static void withdraw(struct ow_bpfengine *e, pid_t pid)
{
	uint32_t key = (uint32_t)pid;

	bpf_map_delete_elem(bpf_map__fd(e->skel->maps.processes), &key);
	count_change(e);
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

/* What has happened wasn't all told: whoever is known is looked at. */
static void look_again(struct ow_recorder *r)
{
	struct ow_images *im = &r->images;
	bool is_new;
	size_t i;

	for (i = 0; i < im->nr_users; i++)
		if (!im->users[i].is_gone &&
		    ow_images_look(im, im->users[i].pid, &is_new))
			ow_bpfknown_note(r, im->users[i].pid);
}

void ow_bpfknown_follow(struct ow_recorder *r)
{
	struct ow_bpfengine *e = r->priv;

	if (!ow_lives_apply(&e->lives, &r->images, is_wanted, ow_bpfknown_note,
			    r))
		look_again(r);
}

/* What a process had before the first look at it doesn't count. */
static void await(struct ow_bpfengine *e, const struct ow_image *image)
{
	struct ow_bpfawaited *more;

	if (!image->since)
		return;
	if (e->nr_awaited == e->room_awaited) {
		more = realloc(e->awaited,
			       (2 * e->room_awaited + 64) * sizeof(*more));
		if (!more)
			return;
		e->awaited = more;
		e->room_awaited = 2 * e->room_awaited + 64;
	}
	e->awaited[e->nr_awaited++] =
		(struct ow_bpfawaited){ image->id, ow_now_ns() };
}

/* Are all of an image's tables there that there will be?  Then *last is when
   the last one came, if that is later. */
static bool is_settled(struct ow_bpfengine *e, const struct ow_image *image,
		       uint64_t *last)
{
	uint64_t since;
	uint32_t i;

	for (i = 0; i < image->nr; i++) {
		if (!ow_bpftables_is_settled(&e->tables,
					     image->ranges[i].object, &since))
			return false;
		if (since > *last)
			*last = since;
	}
	return true;
}

void ow_bpfknown_settle(struct ow_recorder *r)
{
	struct ow_bpfengine *e = r->priv;
	const struct ow_image *image;
	size_t i, left = 0;
	uint64_t last;

	for (i = 0; i < e->nr_awaited; i++) {
		image = ow_images_get(&r->images, e->awaited[i].image);
		last = e->awaited[i].told;
		if (!is_settled(e, image, &last))
			e->awaited[left++] = e->awaited[i];
		else if (last - image->since > r->stats.slowest_ns)
			r->stats.slowest_ns = last - image->since;
	}
	e->nr_awaited = left;
}

/* Tell the kernel of one whose mappings changed, if it still runs. */
bool ow_bpfknown_tell(struct ow_recorder *r)
{
	struct ow_bpfengine *e = r->priv;
	struct ow_image *image;
	bool is_new;
	pid_t pid;

	if (e->nr_changed == 0)
		return false;
	pid = e->changed[0];
	memmove(e->changed, e->changed + 1,
		--e->nr_changed * sizeof(*e->changed));
	image = ow_images_lives(&r->images, pid) ?
			ow_images_of(&r->images, pid) :
			NULL;
	if (!image)
		withdraw(e, pid);
	if (!image || image->nr == 0)
		return true;
	is_new = !image->is_placed;
	publish(r, pid, image, false);
	if (is_new && image->is_placed)
		await(e, image);
	return true;
}

/* Of a process, but not its first one: /proc has it, too. */
static bool is_thread(pid_t pid)
{
	return syscall(SYS_tgkill, pid, pid, 0) && errno == ESRCH &&
	       !kill(pid, 0);
}

int ow_bpfknown_add(struct ow_recorder *r, pid_t pid, struct ow_error *err)
{
	struct ow_bpfengine *e = r->priv;
	uint32_t key = (uint32_t)pid, one = 1;
	struct ow_image *image;

	if (is_thread(pid))
		return ow_fail(err, OW_CODE_ABSENT,
			       "%d is a thread: name its process", pid);
	if (bpf_map_update_elem(bpf_map__fd(e->skel->maps.targets), &key, &one,
				BPF_ANY))
		return ow_bpfload_refuse(err, "too many processes");
	image = ow_images_find(&r->images, pid, err);
	if (!image)
		return -OW_CODE_ABSENT;
	publish(r, pid, image, false);
	ow_bpftables_wait(&e->tables);
	return 0;
}

/*
 * What all processes have mapped.  A clock finds few of them running: so a table
 * is made when the first sample asks for it.
 */
static void look_at_all(struct ow_recorder *r, DIR *dir)
{
	bool lazily = r->options.events == OW_RECORD_CPU;
	const struct dirent *d;
	struct ow_image *image;
	bool is_new;
	int pid;

	while ((d = readdir(dir)) != NULL) {
		pid = atoi(d->d_name);
		image = pid > 0 ? ow_images_look(&r->images, pid, &is_new) :
				  NULL;
		if (image)
			publish(r, pid, image, lazily);
	}
}

void ow_bpfknown_add_all(struct ow_recorder *r)
{
	struct ow_bpfengine *e = r->priv;
	DIR *dir = opendir("/proc");

	if (!dir)
		return;
	look_at_all(r, dir);
	closedir(dir);
	ow_bpftables_wait(&e->tables);
}
