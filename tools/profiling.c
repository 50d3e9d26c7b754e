// SPDX-License-Identifier: BSD-2-Clause
#include "profiling.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clockns.h"
#include "hash.h"
#include "interrupt.h"
#include "stackview.h"

#define SOME_NS 1000000000ULL /* of time for names of some meanwhile */

#define MOST_SPARED_NS 10000000000 /* of all users together */
#define OTHERS_PART \
	4 /* of the work for names, and of all, is what a user leaves to others */

#define SHARES 4 /* a user has one of so many of what is left */
#define MOST_FOLDED \
	256 /* threads and processes told apart by their folded stacks */

static enum profile_kind kind_of(const struct ow_recorded *s)
{
	switch (s->kind) {
	case OW_RECORD_OFF_CPU: return PROFILE_OFF_CPU;
	case OW_RECORD_FAULTS: return PROFILE_FAULTS;
	case OW_RECORD_SYSCALLS: return PROFILE_SYSCALLS;
	}
	return PROFILE_CPU;
}

/*
 * The number of a module's path, which is where it was until the drain returns: to
 * look for one of 4 KiB takes longer than all else that is known of a frame at once.
 */
static uint32_t path_string(struct profiling *g, const char *path)
{
	size_t i = ow_hash_word((uintptr_t)path) % PROFILING_PATHS;
	struct profiling_path *known;

	if (!g->paths)
		return profile_string(g->p, path);
	known = &g->paths[i];
	if (known->path == path)
		return known->string;
	*known = (struct profiling_path){ path, profile_string(g->p, path) };
	if (!known->string)
		known->path = NULL;
	return known->string;
}

/* The number of what is mapped at a frame, or 0; module is of the frame's name. */
static uint32_t mapping_of(struct profiling *g, const struct ow_recorded *s,
			   size_t i, const char *module)
{
	struct profile_mapping is = { 0 };
	struct profile *p = g->p;
	struct ow_module_info m;

	if (p->is_placeless || !ow_recorder_mapping(g->r, s, i, &m))
		return 0;
	/* Of a JIT's code, its map; or what the name has instead. */
	is.module = *m.path ? path_string(g, m.path) :
			      profile_string(p, module);
	is.build_id = profile_string(p, m.build_id);
	is.start = m.start;
	is.end = m.end;
	is.offset = m.offset;
	return profile_mapping(p, &is);
}

/* What is known of a frame at once. */
static uint32_t place_frame(struct profiling *g, const struct ow_recorded *s,
			    size_t i)
{
	struct profile_frame is = { .is_kernel = i < s->nr_kernel };
	struct ow_frame f = ow_recorded_frame(s, i);
	struct ow_module_info m;

	if (!ow_recorder_module(g->r, s, i, &m))
		m = (struct ow_module_info){ .path = "[unknown]" };
	is.module = path_string(g, m.path);
	if (!g->p->is_placeless) {
		is.pc = f.pc;
		is.module_offset = f.pc - m.bias;
		is.mapping = mapping_of(g, s, i, m.path);
	}
	return profile_frame(g->p, &is);
}

/* Return true if so much work was done, or so much time went by. */
static bool is_past(const struct profiling_time *until)
{
	return clock_ns(CLOCK_THREAD_CPUTIME_ID) > until->work_ns ||
	       clock_ns(CLOCK_MONOTONIC) > until->ns;
}

/* Return true if there is no time for names any more. */
static bool is_late(struct profiling *g)
{
	if (!g->is_late)
		g->is_late = interrupt_came_again() || is_past(&g->until);
	return g->is_late;
}

/* See whether there is time for names of this stack yet. */
static void look_at_time(struct profiling *g)
{
	g->is_placing = is_late(g) ||
			clock_ns(CLOCK_THREAD_CPUTIME_ID) > g->ends_ns;
}

/*
 * The same for frame i, where it is the first one, or time went by since the last
 * look: a name can take milliseconds.
 */
static void look_again(struct profiling *g, size_t i)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC_COARSE);

	if (i && now == g->looked_ns)
		return;
	g->looked_ns = now;
	look_at_time(g);
}

/* Return true if there is no time even for places. */
static bool is_too_late(struct profiling *g)
{
	return g->is_late && is_past(&g->until_placed);
}

/* The place of a frame. */
static struct knownplace place_of(const struct ow_recorded *s, size_t i)
{
	bool is_kernels = i < s->nr_kernel;

	return (struct knownplace){
		.frame = s->packed[i],
		.image = is_kernels ? 0 : s->image,
		.uid = is_kernels ? 0 : s->uid,
	};
}

/*
 * Keep the numbers of a place's frames.  Code of no object is another one's at
 * another time.
 */
static void keep_ids(struct profiling *g, const struct ow_recorded *s, size_t i,
		     const uint32_t *ids, size_t nr)
{
	struct knownplace place = place_of(s, i);
	struct ow_module_info m;

	place.is_placed = g->is_placing;
	if (!g->p->has_refused && !g->p->failed &&
	    (i < s->nr_kernel || ow_recorder_module(g->r, s, i, &m)))
		knownplaces_put(&g->known, &place, ids, nr);
}

/* The names of a frame that isn't known, in room; returns how many. */
static size_t name_frame(struct profiling *g, const struct ow_recorded *s,
			 size_t i, uint32_t *ids, size_t room)
{
	struct ow_frame f = ow_recorded_frame(s, i);
	struct ow_name names[OW_VIEW_NAMES];
	uint32_t mapping;
	size_t nr, k;

	nr = ow_recorder_name(g->r, s, i, names, OW_VIEW_NAMES);
	mapping = mapping_of(g, s, i, names[0].module);

	for (k = 0; k < nr && k < room; k++)
		ids[k] = profile_name(g->p, &names[k], f.pc, i < s->nr_kernel,
				      mapping);
	if (k == nr)
		keep_ids(g, s, i, ids, k);
	return k;
}

/*
 * The numbers of a frame's names, in room; returns how many.  Has *is_placed_ret set
 * if there was no time for these.
 */
static size_t frame_ids(struct profiling *g, const struct ow_recorded *s,
			size_t i, uint32_t *ids, size_t room,
			bool *is_placed_ret)
{
	struct knownplace place = place_of(s, i);
	const uint32_t *known;
	size_t nr;

	look_again(g, i);
	known = knownplaces_find(&g->known, &place, &nr);
	if (!known && g->is_placing) {
		*is_placed_ret = true;
		place.is_placed = 1;
		known = knownplaces_find(&g->known, &place, &nr);
	}
	if (known && nr <= room) {
		memcpy(ids, known, nr * sizeof(*ids));
		return nr;
	}
	if (!g->is_placing)
		return name_frame(g, s, i, ids, room);
	ids[0] = place_frame(g, s, i);
	keep_ids(g, s, i, ids, 1);
	return 1;
}

/* Whose stacks of a new share are: 0 if it is the last, which several users have. */
static uint16_t owner_of(struct profiling *g, uid_t uid)
{
	return uid == (uid_t)-1 || g->nr_shares == PROFILING_USERS - 1 ?
		       0 :
		       profile_owner(g->p, uid);
}

/* The share of a user. */
static struct profiling_share *share_of(struct profiling *g, uid_t uid)
{
	size_t i;

	for (i = 0; i < g->nr_shares; i++)
		if (g->shares[i].uid == uid)
			return &g->shares[i];
	if (g->nr_shares == PROFILING_USERS)
		return &g->shares[PROFILING_USERS - 1];
	g->shares[g->nr_shares] = (struct profiling_share){
		.uid = uid,
		.owner = owner_of(g, uid),
	};
	return &g->shares[g->nr_shares++];
}

/* Return true if a user may add no more. */
static bool is_used_up(const struct profiling *g,
		       const struct profiling_share *share)
{
	size_t limit = g->limit ? g->limit : PROFILING_LIMIT, others = 0, i;

	for (i = 0; i < g->nr_shares; i++)
		if (&g->shares[i] != share)
			others += g->shares[i].size;
	if (others >= limit)
		return true;
	return share->size >= (limit - others) / (share->uid == 0 ? 1 : SHARES);
}

/* Note the process that a stack is of, for a message that lists such processes. */
static void list_process(struct profile *p, struct profiling_list *l,
			 const struct ow_recorded *s)
{
	size_t i;

	for (i = 0; i < l->nr; i++)
		if (l->of[i].pid == s->pid)
			return;
	if (l->nr < PROFILING_LISTED)
		l->of[l->nr++] =
			(struct profiling_listed){ s->pid,
						   profile_string(p, s->comm) };
	else
		l->has_more = true;
}

/* Collect the numbers of a stack's frames.  Where these are too many, is->end says so. */
static void take_ids(struct profiling *g, const struct ow_recorded *s,
		     struct profile_stack *is, bool *is_placed_ret)
{
	struct profile_ids *ids = &g->ids;
	size_t i;

	ids->nr = 0;
	for (i = 0; i < s->nr_kernel + s->nr && !g->p->has_refused; i++) {
		if (!profile_make_ids(g->p, ids, is))
			break;
		ids->nr += frame_ids(g, s, i, ids->list + ids->nr,
				     OW_VIEW_NAMES, is_placed_ret);
	}
}

/* Add a stack of an owner with its names.  False if that took more than there may be. */
static bool add_stack(struct profiling *g, const struct profiling_share *share,
		      const struct ow_recorded *s)
{
	struct profile *p = g->p;
	struct profile_stack is = {
		.comm = profile_string(p, s->comm),
		.pid = s->pid,
		.tid = s->tid,
		.end = (uint8_t)s->end,
		.kind = (uint8_t)kind_of(s),
		.owner = share->owner,
		.count = s->count,
		.value = s->value,
	};
	bool is_placed = false;

	take_ids(g, s, &is, &is_placed);
	if (!p->has_refused && !p->failed)
		profile_add(p, &is, g->ids.list, (uint32_t)g->ids.nr);
	if (is_placed) {
		g->unnamed++;
		list_process(p, &g->lacking, s);
	}
	return !p->has_refused;
}

static struct profiling_time time_now(void)
{
	return (struct profiling_time){ clock_ns(CLOCK_THREAD_CPUTIME_ID),
					clock_ns(CLOCK_MONOTONIC) };
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* What a user may take of so much work. */
static uint64_t part_of(uint64_t work_ns)
{
	return work_ns - work_ns / OTHERS_PART;
}

/* Return true if a user's stacks may take no more work, be it for places. */
static bool is_over(const struct profiling *g,
		    const struct profiling_share *share)
{
	return share->uid != 0 && share->work_ns >= part_of(g->all_ns);
}

/* Of a user's work from before to now, what was beyond most. */
static uint64_t beyond(uint64_t most, uint64_t before, uint64_t now)
{
	return now > most ? now - (before > most ? before : most) : 0;
}

/*
 * What a user's work, since then, was beyond the user's share takes nothing from what
 * others may take: one name can take seconds.
 */
static void spare_others(struct profiling *g,
			 const struct profiling_share *share, uint64_t before,
			 const struct profiling_time *then)
{
	uint64_t names = beyond(part_of(g->work_ns), before, share->work_ns);
	uint64_t all = least(beyond(part_of(g->all_ns), before, share->work_ns),
			     MOST_SPARED_NS - g->spared_ns);
	uint64_t work = share->work_ns - before;
	uint64_t took = clock_ns(CLOCK_MONOTONIC) - then->ns;
	struct profiling_time *until = &g->until, *placed = &g->until_placed;

	if (!names)
		return;
	g->is_late = false; /* unless it is by the new limits */
	g->spared_ns += all;
	placed->work_ns += all;
	placed->ns += all;
	until->work_ns = least(until->work_ns + names, placed->work_ns);
	until->ns =
		least(until->ns + names + took - least(work, took), placed->ns);
}

/* Likewise, within what a user's stacks may take. */
static bool add_timed(struct profiling *g, struct profiling_share *share,
		      const struct ow_recorded *s)
{
	uint64_t most = part_of(g->work_ns), before = share->work_ns;
	bool is_root = share->uid == 0, good;
	struct profiling_time begun = time_now();

	g->ends_ns = is_root       ? UINT64_MAX :
		     before < most ? begun.work_ns + most - before :
				     0;
	good = add_stack(g, share, s);
	share->work_ns += clock_ns(CLOCK_THREAD_CPUTIME_ID) - begun.work_ns;
	if (!is_root)
		spare_others(g, share, before, &begun);
	return good;
}

/*
 * Count a stack as one that was left out: by its process, or where there are many
 * of these, by its user.
 */
static void fold_stack(struct profiling *g, struct profiling_share *share,
		       const struct ow_recorded *s)
{
	bool is_many = share->nr_folded >= MOST_FOLDED;
	struct profile_stack is = {
		.end = OW_END_LIMIT,
		.kind = (uint8_t)kind_of(s),
		.owner = share->owner,
		.count = s->count,
		.value = s->value,
	};
	uint32_t before = g->p->nr_stacks, id;
	char user[32];

	snprintf(user, sizeof(user), "user %u", share->uid);
	is.comm = profile_string(g->p, is_many ? user : s->comm);
	if (!is_many) {
		is.pid = s->pid;
		is.tid = s->tid;
	}
	id = profile_mark(g->p, "[too many different stacks]");
	profile_add(g->p, &is, &id, 1);
	share->nr_folded += g->p->nr_stacks > before;
}

/*
 * Names may take what is allowed from now on: the recorder has collected the stacks, which
 * can take a second by itself.
 */
static void begin_names(struct profiling *g)
{
	const struct profiling_limits *most = g->allowed;
	uint64_t work =
		clock_ns(CLOCK_THREAD_CPUTIME_ID) + most->naming.work_ns;
	uint64_t now = clock_ns(CLOCK_MONOTONIC) + most->naming.ns;
	size_t i;

	g->until = (struct profiling_time){ work, now };
	g->until_placed = (struct profiling_time){ work + most->placing.work_ns,
						   now + most->placing.ns };
	g->spared_ns = 0;
	g->is_late = false;
	g->work_ns = most->naming.work_ns;
	g->all_ns = most->naming.work_ns + most->placing.work_ns;
	free(g->paths);
	g->paths = calloc(PROFILING_PATHS, sizeof(*g->paths));
	for (i = 0; i < g->nr_shares; i++)
		g->shares[i].work_ns = 0;
	g->allowed = NULL;
}

static void take(void *arg, const struct ow_recorded *s)
{
	struct profiling *g = arg;
	struct profiling_share *share = share_of(g, s->uid);
	size_t before = profile_size(g->p);
	bool good;

	if (g->allowed)
		begin_names(g);
	if (s->is_folded || is_too_late(g) || is_over(g, share)) {
		fold_stack(g, share, s);
		g->is_short = g->is_short || !s->is_folded;
		g->crowded += s->count;
		list_process(g->p, &g->crowders, s);
		return;
	}
	g->p->is_closed = is_used_up(g, share);
	g->p->has_refused = false;
	good = add_timed(g, share, s);
	g->p->is_closed = false;
	if (!good) {
		g->nr_folded += share->nr_refused++ == 0;
		g->folded += s->count;
		fold_stack(g, share, s);
	}
	share->size += profile_size(g->p) - before;
}

int profiling_drain(struct profiling *g, const struct profiling_limits *most,
		    struct ow_error *err)
{
	g->allowed = most;
	return ow_recorder_drain(g->r, take, g, err);
}

int profiling_drain_some(struct profiling *g, struct ow_error *err)
{
	static const struct profiling_limits most = {
		.naming = { SOME_NS, SOME_NS },
		.placing = { 2 * SOME_NS, 8 * SOME_NS },
	};

	g->allowed = &most;
	return ow_recorder_drain_some(g->r, take, g, err);
}

void profiling_deinit(struct profiling *g)
{
	knownplaces_deinit(&g->known);
	free(g->ids.list);
	free(g->paths);
}

void profiling_tally(struct profiling *g)
{
	struct ow_recorder_stats s;

	ow_recorder_stats(g->r, &s);
	g->p->samples = s.samples;
	g->p->missed = s.missed;
	g->p->lost = s.lost;
}
