// SPDX-License-Identifier: BSD-2-Clause
#include "perfchecks.h"

#include <stdlib.h>

#include "grow.h"
#include "imagecheck.h"
#include "monotonic.h"
#include "perfmoves.h"

#define EVERY_NS  250000000ULL /* at most, of one process */
#define REST_PART 31           /* times as long nothing is looked at */

void ow_perfchecks_note(struct ow_perfchecks *c, struct ow_recorder *r,
			pid_t pid)
{
	struct ow_image_user *user = ow_images_user(&r->images, pid);

	if (!user || user->is_gone)
		return;
	user->nr_fresh++;
	if (user->is_due ||
	    !ow_grow(&c->due, &c->room, c->nr + 1, sizeof(*c->due)))
		return;
	c->due[c->nr++] = (struct ow_perfcheck){ .pid = pid };
	user->is_due = true;
}

/* Return true if it is in one of the ranges, which are in address order and apart. */
static bool is_within(uint64_t addr, const struct ow_bpf_range *list,
		      uint32_t nr)
{
	const struct ow_bpf_range *r = ow_image_in_list(list, nr, addr);

	return r && r->start <= addr;
}

/* Does a stack lead through one of the ranges? */
static bool leads_there(const struct ow_recorded *s,
			const struct ow_bpf_range *list, uint32_t nr)
{
	struct ow_frame f;
	size_t i;

	for (i = s->nr_kernel; i < s->nr_kernel + s->nr; i++) {
		f = ow_recorded_frame(s, i);
		if (is_within(ow_frame_lookup_pc(&f), list, nr))
			return true;
	}
	return false;
}

/*
 * Stacks that were counted since their processes were looked at, by process.  They are
 * listed when the first process needs that.
 */
struct fresh {
	struct ow_stored **list; /* NULL: not yet, or out of memory */
	size_t nr;
};

static int compare_pids(const void *a, const void *b)
{
	const struct ow_stored *const *x = a, *const *y = b;

	return ((*x)->is.pid > (*y)->is.pid) - ((*x)->is.pid < (*y)->is.pid);
}

static void list_fresh(struct fresh *f, struct ow_recorder *r)
{
	const struct ow_image_user *user;
	struct ow_stored *s;
	size_t i;

	f->list = calloc(r->store.nr + 1, sizeof(struct ow_stored *));
	for (i = 0; f->list && i < r->store.room; i++) {
		s = r->store.slots[i];
		if (!s || !s->fresh || !s->is.nr)
			continue;
		user = ow_images_user(&r->images, s->is.pid);
		if (user && s->checked == user->checked)
			f->list[f->nr++] = s;
	}
	if (f->list)
		qsort(f->list, f->nr, sizeof(struct ow_stored *), compare_pids);
}

/* The first one that is of the process, or of one with a higher number. */
static size_t first_of(const struct fresh *f, pid_t pid)
{
	size_t low = 0, high = f->nr, mid;

	while (low < high) {
		mid = low + (high - low) / 2;
		if (f->list[mid]->is.pid < pid)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* Unname what a process was sampled in: in some ranges, or anywhere if there are none. */
static void doubt(struct ow_recorder *r, struct fresh *f, pid_t pid,
		  const struct ow_bpf_range *ranges, uint32_t nr)
{
	const struct ow_image *unknown = NULL;
	size_t i;

	if (!f->list)
		list_fresh(f, r);
	for (i = first_of(f, pid); i < f->nr && f->list[i]->is.pid == pid;
	     i++) {
		if (!f->list[i]->fresh ||
		    (ranges && !leads_there(&f->list[i]->is, ranges, nr)))
			continue;
		if (!unknown)
			unknown = ow_images_add_full(&r->images, pid);
		ow_recorder_doubt(r, f->list[i], unknown ? unknown->id : 0);
	}
}

/* Go by what a look has shown that was begun at a time. */
static void settle(struct ow_recorder *r, struct fresh *f, pid_t pid,
		   uint64_t as_of)
{
	struct ow_image_user *user = ow_images_user(&r->images, pid);
	struct ow_bpf_range *ranges;
	uint32_t nr;

	ranges = ow_imagecheck_changed(&r->images, pid, as_of, &nr);
	if (!user)
		return;
	if (nr) {
		doubt(r, f, pid, ranges, nr);
		ow_perfmoves_note_untold(&r->images, user);
	}
	free(ranges);
	user->checked = as_of;
	user->nr_fresh = 0;
}

/* A process whose turn it was, and since when holds what a look has shown; or 0. */
struct checked {
	pid_t pid;
	uint64_t as_of;
};

/* Go by what was seen of processes, and by what has been told of them meanwhile. */
static void settle_all(struct ow_perfchecks *c, struct ow_recorder *r,
		       const struct checked *list, size_t nr)
{
	uint64_t begin = ow_now_ns(), end;
	struct fresh f = { NULL, 0 };
	const struct ow_image_user *user;
	size_t i;

	for (i = 0; i < nr; i++) {
		user = ow_images_user(&r->images, list[i].pid);
		if (user && ow_perfmoves_has_moved(&r->images, user))
			doubt(r, &f, list[i].pid, NULL, 0);
	}
	for (i = 0; i < nr; i++)
		if (list[i].as_of)
			settle(r, &f, list[i].pid, list[i].as_of);
	free(f.list);
	end = ow_now_ns();
	if (c->next < end + REST_PART * (end - begin))
		c->next = end + REST_PART * (end - begin);
}

/* Look at a process, if it is time to.  Return false if it is to be left for later. */
static bool look(struct ow_perfchecks *c, struct ow_recorder *r, pid_t pid,
		 bool all, struct checked *ret)
{
	struct ow_image_user *user = ow_images_user(&r->images, pid);
	uint64_t now = ow_now_ns();
	bool is_new;

	*ret = (struct checked){ pid, 0 };
	if (!user || user->is_gone)
		return true;
	if (!all && (now < c->next || now - user->looked < EVERY_NS))
		return false;
	user->is_due = false;
	if (!(all ? ow_images_look(&r->images, pid, &is_new) :
		    ow_images_look_again(&r->images, pid)))
		return true;
	*ret = (struct checked){ pid, user->looked };
	c->next = ow_now_ns() + REST_PART * (ow_now_ns() - now);
	return true;
}

static int compare(const void *a, const void *b)
{
	const struct ow_perfcheck *x = a, *y = b;

	return (x->nr < y->nr) - (x->nr > y->nr);
}

/* Have those come first that were sampled most. */
static void sort(struct ow_perfchecks *c, struct ow_recorder *r)
{
	const struct ow_image_user *user;
	size_t i;

	for (i = 0; i < c->nr; i++) {
		user = ow_images_user(&r->images, c->due[i].pid);
		c->due[i].nr = user ? user->nr_fresh : 0;
	}
	qsort(c->due, c->nr, sizeof(*c->due), compare);
}

void ow_perfchecks_run(struct ow_perfchecks *c, struct ow_recorder *r, bool all,
		       uint64_t ns, void (*read)(struct ow_recorder *r))
{
	uint64_t until = ow_now_ns() + ns;
	struct checked *list = NULL;
	size_t i, left = 0, nr = 0;
	bool is_left;

	if (c->nr == 0 || (!all && ow_now_ns() < c->next))
		return;
	list = calloc(c->nr + 1, sizeof(*list));
	sort(c, r);
	for (i = 0; list && i < c->nr; i++) {
		list[nr] = (struct checked){ c->due[i].pid, 0 };
		is_left = ow_now_ns() > until ||
			  ow_images_must_end(&r->images) ||
			  !look(c, r, c->due[i].pid, all, &list[nr]);
		if (is_left)
			c->due[left++] = c->due[i];
		nr += all || !is_left;
	}
	if (list)
		c->nr = left;
	if (nr)
		read(r);
	settle_all(c, r, list, nr);
	free(list);
}

void ow_perfchecks_deinit(struct ow_perfchecks *c)
{
	free(c->due);
	*c = (struct ow_perfchecks){ 0 };
}
