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

#define COSTLY   256    /* ranges: not to be told again at once, */
#define RANGE_NS 200000 /* but after so long for each */

#define PLACELESS_NS \
	100000000 /* until an image that had no place is tried again */

#define PREPARE_NS \
	100000000 /* of CPU time, that an image's tables may be prepared for */

/* Looks before sampling begins: what they cost (ow_images.looked), and how long. */
#define MOST_FIRST (1U << 18)
#define FIRST_NS   2000000000

/* An image whose tables may not all have been there when it was told of. */
struct ow_bpfawaited {
	uint32_t image;
	uint64_t since, told; /* CLOCK_MONOTONIC, ns */
};

/* What the programs have looked up of processes is to be looked up again. */
static void count_change(struct ow_bpfengine *e)
{
	__atomic_fetch_add(&e->skel->bss->lives, 1, __ATOMIC_SEQ_CST);
}

/* It has ended, maybe before it was told of: its number may be another's. */
static void withdraw(struct ow_bpfengine *e, pid_t pid)
{
	uint32_t key = (uint32_t)pid;

	bpf_map_delete_elem(bpf_map__fd(e->skel->maps.processes), &key);
	count_change(e);
}

static void withdraw_ended(void *arg, const struct ow_image_user *user)
{
	if (user->told_at)
		withdraw(((struct ow_recorder *)arg)->priv, user->pid);
}

int ow_bpfknown_init(struct ow_recorder *r, struct ow_error *err)
{
	struct ow_bpfengine *e = r->priv;
	void *at = mmap(NULL, OW_BPF_RANGES * sizeof(*e->ranges),
			PROT_READ | PROT_WRITE, MAP_SHARED,
			bpf_map__fd(e->skel->maps.ranges), 0);

	if (at == MAP_FAILED)
		return ow_fail(err, OW_CODE_SYSTEM, "mmap of a BPF map");
	e->ranges = at;
	r->images.kernel = at;
	r->images.changes = (uint64_t *)&e->skel->bss->lives;
	r->images.ended = withdraw_ended;
	r->images.ended_arg = r;
	return 0;
}

void ow_bpfknown_deinit(struct ow_recorder *r)
{
	struct ow_bpfengine *e = r->priv;

	r->images.kernel = NULL;
	r->images.changes = NULL;
	r->images.ended = NULL;
	if (e->ranges)
		munmap(e->ranges, OW_BPF_RANGES * sizeof(*e->ranges));
	free(e->changed);
	free(e->awaited);
}

/*
 * Have the tables made that the image of a process needs.  Their unwind information is loaded
 * here, while nothing is read of what comes: after a while tables wait for samples.
 */
static void prepare(struct ow_recorder *r, pid_t pid, struct ow_image *image,
		    bool lazily)
{
	struct ow_bpfengine *e = r->priv;
	uid_t uid = ow_images_uid(&r->images, pid);
	uint64_t until = ow_cpu_ns() + PREPARE_NS;
	uint32_t i;

	if (image->is_prepared)
		return;
	image->is_prepared = true;
	for (i = 0; i < image->nr; i++) {
		lazily = lazily || ow_cpu_ns() > until ||
			 ow_images_must_end(&r->images);
		ow_bpftables_prepare(&e->tables, image->ranges[i].object, uid,
				     lazily);
	}
}

/* Let the kernel know the process.  Return false if it knows as many as it can. */
static bool put(struct ow_recorder *r, struct ow_image_user *user,
		const struct ow_bpf_process *p)
{
	struct ow_bpfengine *e = r->priv;
	uint32_t key = (uint32_t)user->pid;

	if (!bpf_map_update_elem(bpf_map__fd(e->skel->maps.processes), &key, p,
				 BPF_ANY))
		return true;
	r->stats.crowded_out += !user->is_out;
	user->is_out = true;
	return false;
}

/* Return true if the kernel has the image's ranges now. */
static bool place(struct ow_recorder *r, struct ow_image *image)
{
	uint64_t now = ow_now_ns();

	if (!image->is_placed && now < image->placeless_until)
		return false;
	if (ow_images_place(&r->images, image))
		return true;
	image->placeless_until = now + PLACELESS_NS;
	return false;
}

/*
 * The process' list of mappings; whose table isn't there yet is waited for.  False
 * if there is no room for it now.
 */
static bool publish(struct ow_recorder *r, pid_t pid, struct ow_image *image,
		    bool lazily)
{
	struct ow_image_user *user = ow_images_user(&r->images, pid);
	struct ow_bpfengine *e = r->priv;
	struct ow_bpf_process p;

	if (!place(r, image))
		return false;
	prepare(r, pid, image, lazily);
	p = (struct ow_bpf_process){ image->id, image->first, image->nr,
				     0,         user->as_of,  user->looked };
	if (!put(r, user, &p))
		return false;
	count_change(e);
	user->told_at = ow_now_ns();
	user->told_as_of = user->as_of;
	user->nr_told = image->nr;
	return true;
}

static bool is_wanted(void *arg, pid_t pid, uint64_t time)
{
	struct ow_bpfengine *e = ((struct ow_recorder *)arg)->priv;
	uint32_t key = (uint32_t)pid, one;

	/* Targets that have ended are none any more; of some it isn't told yet. */
	return e->skel->rodata->everyone ||
	       ow_images_lives_at(&((struct ow_recorder *)arg)->images, pid,
				  time) ||
	       !bpf_map_lookup_elem(bpf_map__fd(e->skel->maps.targets), &key,
				    &one);
}

/* A process' mappings are to be told of, when there is time. */
static void note(struct ow_recorder *r, struct ow_image_user *user)
{
	struct ow_bpfengine *e = r->priv;
	size_t room = 2 * e->room_changed + 64;
	pid_t *more;

	if (user->is_due)
		return;
	if (2 * e->first_changed > e->room_changed) {
		memmove(e->changed, e->changed + e->first_changed,
			e->nr_changed * sizeof(*e->changed));
		e->first_changed = 0;
	}
	if (e->first_changed + e->nr_changed == e->room_changed) {
		more = realloc(e->changed, room * sizeof(*more));
		if (!more)
			return;
		e->changed = more;
		e->room_changed = room;
	}
	e->changed[e->first_changed + e->nr_changed++] = user->pid;
	user->is_due = true;
}

/* The first one of those that are to be told of; 0: there is none. */
static pid_t take_changed(struct ow_bpfengine *e)
{
	pid_t pid;

	if (e->nr_changed == 0)
		return 0;
	pid = e->changed[e->first_changed++];
	if (--e->nr_changed == 0)
		e->first_changed = 0;
	return pid;
}

/* Of what isn't told before a sample wants it, the end is all that matters. */
static void note_change(void *arg, pid_t pid)
{
	struct ow_recorder *r = arg;
	struct ow_bpfengine *e = r->priv;
	struct ow_image_user *user = ow_images_user(&r->images, pid);

	if (!user)
		return;
	if (user->is_gone && user->told_at)
		withdraw(e, pid);
	else if (!user->is_gone && !e->is_lazy)
		note(r, user);
}

void ow_bpfknown_follow(struct ow_recorder *r)
{
	struct ow_bpfengine *e = r->priv;

	if (!ow_lives_apply(&e->lives, &r->images, is_wanted, note_change, r))
		ow_images_lose(&r->images, ow_now_ns());
}

/* Its tables were wanted from now on. */
static void await(struct ow_bpfengine *e, const struct ow_image *image,
		  uint64_t since)
{
	struct ow_bpfawaited *more;

	if (e->nr_awaited == e->room_awaited) {
		more = realloc(e->awaited,
			       (2 * e->room_awaited + 64) * sizeof(*more));
		if (!more)
			return;
		e->awaited = more;
		e->room_awaited = 2 * e->room_awaited + 64;
	}
	e->awaited[e->nr_awaited++] =
		(struct ow_bpfawaited){ image->id, since, ow_now_ns() };
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
		if (!image)
			continue;
		if (!is_settled(e, image, &last))
			e->awaited[left++] = e->awaited[i];
		else if (last - e->awaited[i].since > r->stats.slowest_ns)
			r->stats.slowest_ns = last - e->awaited[i].since;
	}
	e->nr_awaited = left;
}

/* What has much mapped, and changes it all the time, takes its turn. */
static bool is_told_too_often(const struct ow_image_user *user)
{
	return user->told_at && user->nr_told > COSTLY &&
	       ow_now_ns() - user->told_at < (uint64_t)user->nr_told * RANGE_NS;
}

/* Tell the kernel what a process has mapped now. */
static void tell(struct ow_recorder *r, struct ow_image_user *user,
		 uint64_t since)
{
	struct ow_bpfengine *e = r->priv;
	struct ow_image *image;
	bool is_new;

	/* What isn't known for certain is looked at when a sample asks for it. */
	if (user->is_unheeded || is_told_too_often(user) ||
	    ow_images_is_in_doubt(&r->images, user->pid, ow_now_ns()))
		return;
	image = ow_images_of(&r->images, user->pid);
	if (!image || image->nr == 0)
		return;
	is_new = !image->is_placed;
	if (publish(r, user->pid, image, e->is_lazy) && is_new)
		await(e, image, since);
}

bool ow_bpfknown_tell(struct ow_recorder *r)
{
	pid_t pid = take_changed(r->priv);
	struct ow_image_user *user = ow_images_user(&r->images, pid);

	if (user && !user->is_gone) {
		user->is_due = false;
		tell(r, user, user->as_of);
	}
	return pid != 0;
}

void ow_bpfknown_want(struct ow_recorder *r, pid_t pid)
{
	struct ow_image_user *user = ow_images_user(&r->images, pid);

	if (user && !user->is_gone)
		tell(r, user, ow_now_ns());
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
	if (!image) {
		bpf_map_delete_elem(bpf_map__fd(e->skel->maps.targets), &key);
		return -OW_CODE_ABSENT;
	}
	publish(r, pid, image, false);
	ow_bpftables_wait(&e->tables, &r->images);
	return 0;
}

/*
 * What all processes have mapped.  A clock finds few of them running: so a table
 * is made when the first sample asks for it.  Where they have very much mapped, the
 * others are looked at when they are sampled.
 */
static void look_at_all(struct ow_recorder *r, DIR *dir)
{
	bool lazily = ((struct ow_bpfengine *)r->priv)->is_lazy, is_new;
	const struct dirent *d;
	struct ow_image *image;
	uint64_t until = ow_now_ns() + FIRST_NS;
	int pid;

	while (!ow_images_must_end(&r->images) &&
	       r->images.looked < MOST_FIRST && ow_now_ns() < until &&
	       (d = readdir(dir)) != NULL) {
		pid = atoi(d->d_name);
		if (pid <= 0)
			continue;
		image = ow_images_look(&r->images, pid, &is_new);
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
	ow_bpftables_wait(&e->tables, &r->images);
}
