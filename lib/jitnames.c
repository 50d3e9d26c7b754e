// SPDX-License-Identifier: BSD-2-Clause
#include "jitnames.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "budget.h"
#include "error.h"
#include "leftout.h"
#include "monotonic.h"

#define FIRST_FRAMES 1024
#define MOST_FRAMES  1000000
#define MOST_NS      5000000000ULL /* of CPU time, to walk all threads */
#define FIRST_NAMES  1024
#define COPIES       3 /* of a name: in the text, in its section, and in all joined */

/* What is being collected. */
struct collecting {
	struct ow_capture *c;
	struct ow_perfmap *map;
	struct ow_symbol *found;
	size_t nr, room;
	size_t own;        /* bytes taken from the budget */
	uint64_t begun_ns; /* by the clock of CPU time */
	bool is_cut, is_late;
};

/* Take memory; false, and it is noted, if that is more than there may be. */
static bool take_memory(struct collecting *k, size_t size)
{
	if (ow_budget_take(&k->own, size))
		return true;
	k->is_cut = true;
	return false;
}

/* Names are borrowed from the map, in the order of its lines. */
static int symbol_order(const void *a, const void *b)
{
	const struct ow_symbol *x = a, *y = b;

	if (x->vaddr != y->vaddr)
		return x->vaddr < y->vaddr ? -1 : 1;
	return (x->name > y->name) - (x->name < y->name);
}

/* Have each symbol once. */
static void keep_once(struct collecting *k)
{
	size_t i, nr = 0;

	if (k->nr)
		qsort(k->found, k->nr, sizeof(*k->found), symbol_order);
	for (i = 0; i < k->nr; i++)
		if (nr == 0 || symbol_order(&k->found[nr - 1], &k->found[i]))
			k->found[nr++] = k->found[i];
	k->nr = nr;
}

/* Room for one more, where there may be so much; false when out of memory. */
static bool make_room(struct collecting *k)
{
	size_t room = k->room ? 2 * k->room : FIRST_NAMES;
	struct ow_symbol *more;

	if (k->nr == k->room)
		keep_once(k);
	if (k->nr <= k->room / 2 && k->room)
		return true;
	if (!take_memory(k, (room - k->room) * sizeof(*more)))
		return true;
	more = realloc(k->found, room * sizeof(*more));
	if (!more)
		return false;
	k->found = more;
	k->room = room;
	return true;
}

static bool add_frame(struct collecting *k, const struct ow_frame *frame)
{
	uint64_t pc = ow_frame_lookup_pc(frame);
	const struct ow_capture_module *m = ow_capture_module_at(k->c, pc);
	struct ow_symbol sym;

	if ((m && m->object) || !ow_perfmap_find(k->map, pc, &sym))
		return true;
	if (k->nr == k->room && !make_room(k))
		return false;
	if (k->nr < k->room)
		k->found[k->nr++] = sym;
	return true;
}

static bool add_thread(struct collecting *k, size_t i)
{
	_cleanup_(ow_freep) struct ow_frame *frames = NULL;
	size_t max = FIRST_FRAMES, nr = 0, n;
	enum ow_end end = OW_END_NOT_YET;

	for (;; max *= 4) {
		if (ow_cpu_ns() - k->begun_ns > MOST_NS)
			end = OW_END_COSTLY;
		if (end == OW_END_COSTLY)
			break;
		free(frames);
		frames = calloc(max, sizeof(*frames));
		if (!frames)
			return false;
		nr = ow_capture_walk(k->c, i, frames, max, &end, NULL);
		if (end != OW_END_LIMIT || max > MOST_FRAMES)
			break;
	}
	k->is_late = k->is_late || end == OW_END_COSTLY;
	for (n = 0; n < nr; n++)
		if (!add_frame(k, &frames[n]))
			return false;
	return true;
}

static void print(struct collecting *k, struct ow_bytebuf *to)
{
	char numbers[64];
	size_t i, size;

	keep_once(k);
	for (i = 0; i < k->nr; i++) {
		size = strlen(k->found[i].name);
		if (!take_memory(k, COPIES * (size + sizeof(numbers))))
			break;
		snprintf(numbers, sizeof(numbers), "%llx %llx ",
			 (unsigned long long)k->found[i].vaddr,
			 (unsigned long long)k->found[i].size);
		ow_bytebuf_add(to, numbers, strlen(numbers));
		ow_bytebuf_add(to, k->found[i].name, size);
		ow_bytebuf_add(to, "\n", 1);
	}
}

struct ow_perfmap *ow_jitnames_open(const struct ow_capture *c)
{
	if (c->jit_names)
		return ow_perfmap_parse(c->jit_names, c->jit_names_size,
					(struct ow_owner){ 0 }, c->jit_path);
	return c->live > 0 ? ow_perfmap_open(c->pid) : NULL;
}

bool ow_jitnames_collect(struct ow_jitnames *ret, struct ow_capture *c)
{
	struct collecting k = { .c = c, .begun_ns = ow_cpu_ns() };
	bool good;
	size_t i;

	*ret = (struct ow_jitnames){ 0 };
	k.map = ow_jitnames_open(c);
	good = k.map != NULL;
	for (i = 0; good && i < c->nr_threads; i++)
		good = add_thread(&k, i);
	if (good && k.nr) {
		print(&k, &ret->text);
		ret->path = strdup(ow_perfmap_path(k.map));
	}
	if (k.is_cut)
		ow_budget_refuse(ow_perfmap_path(k.map),
				 "some names, in a snapshot,");
	if (k.is_late)
		ow_leave_out(
			ow_perfmap_path(k.map),
			"some names, in a snapshot, as stacks take too long "
			"to walk");
	ret->own = k.own - k.room * sizeof(*k.found);
	ow_budget_give(&k.own, k.room * sizeof(*k.found));
	ow_perfmap_close(k.map);
	free(k.found);
	if (ret->path)
		return true;
	ow_jitnames_deinit(ret);
	return false;
}

void ow_jitnames_deinit(struct ow_jitnames *j)
{
	free(j->path);
	ow_bytebuf_deinit(&j->text);
	ow_budget_give(&j->own, j->own);
	j->path = NULL;
}
