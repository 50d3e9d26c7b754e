// SPDX-License-Identifier: BSD-2-Clause
#include "tracenames.h"

#include <stdlib.h>
#include <string.h>

#include "clockns.h"
#include "grow.h"

#define SECOND ((uint64_t)1000000000)

const struct shares trace_names_work = { .most = 20 * SECOND, .eighths = 6 };

static bool is_late(const struct trace_names *n, uint64_t owner)
{
	return shares_left(&n->work, owner) == 0;
}

/* Take the time that has passed since then. */
static void charge(struct trace_names *n, uint64_t owner, uint64_t since)
{
	shares_take(&n->work, owner, clock_ns(CLOCK_THREAD_CPUTIME_ID) - since);
}

/* The record of an object, or NULL when out of memory. */
static struct trace_object *object_of(struct trace_names *n,
				      unsigned int number)
{
	size_t nr = (size_t)number + 1;

	if (nr > n->nr_objects) {
		if (!ow_grow(&n->objects, &n->room, nr, sizeof(*n->objects))) {
			n->profile->failed = true;
			return NULL;
		}
		memset(n->objects + n->nr_objects, 0,
		       (nr - n->nr_objects) * sizeof(*n->objects));
		n->nr_objects = nr;
	}
	return &n->objects[number];
}

/* Return true if the object of a frame is open, and open it if there is time. */
static bool open_object(struct trace_names *n, const struct trace_stack *s,
			const struct tracemaps *maps, size_t i)
{
	const struct trace_place *at = &s->places[i];
	struct trace_object *o = object_of(n, at->object);
	uint64_t owner = trace_stack_owner(s), since;

	if (!at->object || !o || o->is_open)
		return o;
	if (is_late(n, owner))
		return false;
	since = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	ow_places_is_trampoline(maps->places, at->object, at->off);
	charge(n, owner, since);
	return o->is_open = true;
}

/* The number of a frame without names. */
static uint32_t place_frame(struct trace_names *n, const struct trace_stack *s,
			    const struct tracemaps *maps, size_t i)
{
	const struct trace_place *at = &s->places[i];
	struct trace_object *o = object_of(n, at->object);
	struct profile *p = n->profile;

	if (!o)
		return 0;
	if (!o->module) {
		const char *path = ow_places_path(maps->places, at->object);

		/* 0 also if its user has no room for it: another user may have. */
		o->module = profile_string(p, path);
	}
	return profile_place(p, o->module, s->pcs[i], at->off);
}

static bool is_good(const struct profile *p)
{
	return !p->has_refused && !p->failed;
}

/* Name a frame whose place isn't known. */
static size_t name_frame(struct trace_names *n, const struct trace_stack *s,
			 const struct tracemaps *maps, size_t i,
			 const struct knownplace *place, uint32_t *ids)
{
	uint64_t since = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	struct ow_name names[OW_VIEW_NAMES];
	struct profile *p = n->profile;
	size_t nr, k;

	nr = ow_places_name(maps->places, s->places[i].object, s->places[i].off,
			    place->uid, names, OW_VIEW_NAMES);
	for (k = 0; k < nr; k++)
		ids[k] = profile_name(p, &names[k], s->pcs[i], false, 0);
	if (is_good(p))
		knownplaces_put(&n->known, place, ids, nr);
	charge(n, trace_stack_owner(s), since);
	return nr;
}

size_t trace_names_take(struct trace_names *n, const struct trace_stack *s,
			const struct tracemaps *maps, size_t i, uint32_t *ids,
			bool *is_placed_ret)
{
	const struct trace_place *at = &s->places[i];
	struct knownplace place = { .frame = at->off, .image = at->object };
	const uint32_t *known = NULL;
	size_t nr, k;
	bool can;

	can = open_object(n, s, maps, i) &&
	      (i == 0 || open_object(n, s, maps, i - 1));
	if (can && at->object) {
		place.uid = trace_stack_flags(s, maps, i);
		known = knownplaces_find(&n->known, &place, &nr);
		can = known || !is_late(n, trace_stack_owner(s));
	}
	if (!can || !at->object) {
		*is_placed_ret |= at->object != 0;
		ids[0] = place_frame(n, s, maps, i);
		return 1;
	}
	if (!known)
		return name_frame(n, s, maps, i, &place, ids);
	for (k = 0; k < nr; k++)
		ids[k] = profile_move(n->profile, known[k], s->pcs[i]);
	return nr;
}

void trace_names_deinit(struct trace_names *n)
{
	shares_deinit(&n->work);
	knownplaces_deinit(&n->known);
	free(n->objects);
}
