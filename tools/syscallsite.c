// SPDX-License-Identifier: BSD-2-Clause
#include "syscallsite.h"

#include <stdlib.h>
#include <string.h>

#include "hash.h"
#include "sitenames.h"

#define MOST        ((size_t)16384) /* sites */
#define MEMORY_PART 8               /* of all that a run may take */

static uint64_t hash_of(const struct ow_recorded *is)
{
	size_t nr = is->nr_kernel + is->nr;
	uint64_t words[] = { is->image, is->end, ow_hash(is->packed, 8 * nr) };

	return ow_hash(words, sizeof(words));
}

static bool is_same(const struct ow_recorded *a, const struct ow_recorded *b)
{
	return a->image == b->image && a->end == b->end && a->nr == b->nr &&
	       a->nr_kernel == b->nr_kernel &&
	       memcmp(a->packed, b->packed, 8 * (a->nr + a->nr_kernel)) == 0;
}

static struct syscallsite **slot_of(const struct syscallsites *s, uint64_t hash,
				    const struct ow_recorded *is)
{
	size_t i;

	for (i = hash & (s->room - 1);; i = (i + 1) & (s->room - 1))
		if (!s->all[i] ||
		    (s->all[i]->hash == hash && is_same(&s->all[i]->is, is)))
			return &s->all[i];
}

/* A site with a copy of the stack; NULL when out of memory. */
static struct syscallsite *make(struct syscallsites *s, uint64_t hash,
				const struct ow_recorded *is)
{
	size_t size = 8 * (is->nr_kernel + is->nr);
	struct syscallsite *site = calloc(1, sizeof(*site) + size);

	if (!site)
		return NULL;
	memcpy(site + 1, is->packed, size);
	site->hash = hash;
	site->is = *is;
	site->is.packed = (const uint64_t *)(site + 1);
	site->names = sitenames_make(s->recorder, is, s->stacks, &site->place,
				     &site->is_cut);
	site->bytes = sizeof(*site) + size +
		      (site->names ? site->names->bytes : 0) +
		      (site->place ? strlen(site->place) + 1 : 0);
	return site;
}

static void discard(struct syscallsite *site)
{
	sitenames_release(site->names);
	free(site->place);
	free(site);
}

/* Keep what is held, and of the others those that were used lately, if any. */
static void thin(struct syscallsites *s, bool keep_used)
{
	struct syscallsite **old = s->all, *site;
	size_t room = s->room, i;

	s->all = calloc(room, sizeof(*s->all));
	if (!s->all) {
		s->all = old;
		return;
	}
	s->nr = 0;
	for (i = 0; i < room; i++) {
		site = old[i];
		if (!site)
			continue;
		if (site->users || (keep_used && site->is_used)) {
			site->is_used = false;
			*slot_of(s, site->hash, &site->is) = site;
			s->nr++;
			continue;
		}
		s->bytes -= site->bytes;
		discard(site);
	}
	free(old);
}

/* Drop sites, at least half of all.  Return false if most of them are held. */
static bool make_room(struct syscallsites *s)
{
	size_t before = s->nr;

	if (2 * s->nr_held > s->nr || !s->nr)
		return false;
	thin(s, true);
	if (2 * s->nr > before)
		thin(s, false);
	return s->nr < before;
}

static bool have_slots(struct syscallsites *s)
{
	if (!s->all) {
		s->all = calloc(2 * MOST, sizeof(*s->all));
		s->room = s->all ? 2 * MOST : 0;
	}
	return s->all && (s->nr < MOST || make_room(s));
}

static bool fits(const struct syscallsites *s, size_t bytes)
{
	return s->bytes + bytes <= ow_get_memory_limit() / MEMORY_PART;
}

/* Add one that isn't there. */
static struct syscallsite *add(struct syscallsites *s, uint64_t hash,
			       const struct ow_recorded *is)
{
	struct syscallsite *site = have_slots(s) ? make(s, hash, is) : NULL;

	if (site && !fits(s, site->bytes) &&
	    !(make_room(s) && fits(s, site->bytes))) {
		discard(site);
		return NULL;
	}
	if (site) {
		*slot_of(s, hash, is) = site;
		s->nr++;
		s->bytes += site->bytes;
	}
	return site;
}

struct syscallsite *syscallsite_hold(struct syscallsites *s,
				     const struct ow_recorded *is, bool is_made)
{
	struct syscallsite *site;
	uint64_t hash;

	if (!is || is->nr == 0)
		return NULL;
	hash = hash_of(is);
	site = s->room ? *slot_of(s, hash, is) : NULL;
	if (!site && is_made)
		site = add(s, hash, is);
	if (site) {
		site->is_used = true;
		s->nr_held += site->users++ == 0;
	}
	return site;
}

void syscallsite_release(struct syscallsites *s, struct syscallsite *site)
{
	if (site)
		s->nr_held -= --site->users == 0;
}

void syscallsites_deinit(struct syscallsites *s)
{
	size_t i;

	for (i = 0; i < s->room; i++)
		if (s->all[i])
			discard(s->all[i]);
	free(s->all);
	*s = (struct syscallsites){ 0 };
}
