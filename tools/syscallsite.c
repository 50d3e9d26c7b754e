// SPDX-License-Identifier: BSD-2-Clause
#include "syscallsite.h"

#include <stdlib.h>
#include <string.h>

#include "clockns.h"
#include "hash.h"
#include "sitenames.h"

#define MOST        ((size_t)16384) /* sites */
#define MEMORY_PART 8               /* of all that a run may take */
#define REST_NS     10000000        /* between two times that sites go */

static uint64_t hash_of(const struct ow_recorded *is)
{
	size_t nr = is->nr_kernel + is->nr;
	uint64_t words[] = { is->image, is->uid, is->end,
			     ow_hash(is->packed, 8 * nr) };

	return ow_hash(words, sizeof(words));
}

static bool is_same(const struct ow_recorded *a, const struct ow_recorded *b)
{
	return a->image == b->image && a->uid == b->uid && a->end == b->end &&
	       a->nr == b->nr && a->nr_kernel == b->nr_kernel &&
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

static size_t most_bytes(void)
{
	return ow_get_memory_limit() / MEMORY_PART;
}

/* What each counts for, so that there are no more than MOST. */
static size_t least_bytes(void)
{
	return most_bytes() / MOST + 1;
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
	size += sizeof(*site) + (site->names ? site->names->bytes : 0) +
		(site->place ? strlen(site->place) + 1 : 0);
	site->bytes = size > least_bytes() ? size : least_bytes();
	return site;
}

static void discard(struct syscallsite *site)
{
	sitenames_release(site->names);
	free(site->place);
	free(site);
}

/* Whether a site stays when others of that user make room. */
static bool stays(const struct syscallsite *site, uid_t uid, bool keep_used)
{
	return site->users || site->is.uid != uid ||
	       (keep_used && site->is_used);
}

/* Drop call sites that no process of a user has; keep those used lately, if asked. */
static void thin(struct syscallsites *s, uid_t uid, bool keep_used)
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
		if (stays(site, uid, keep_used)) {
			site->is_used = site->is_used && site->is.uid != uid;
			*slot_of(s, site->hash, &site->is) = site;
			s->nr++;
			continue;
		}
		shares_limit_give(&s->limit, site->is.pid, site->is.uid,
				  site->bytes);
		discard(site);
	}
	free(old);
}

static bool allows(const struct syscallsites *s, const struct ow_recorded *is,
		   size_t bytes)
{
	return shares_limit_allows(&s->limit, is->pid, is->uid, bytes);
}

/* Drop sites of the user, about half of them, for so much more.  Not all the time. */
static bool make_room(struct syscallsites *s, const struct ow_recorded *is,
		      size_t bytes)
{
	uint64_t now;

	if (allows(s, is, bytes))
		return true;
	now = clock_ns(CLOCK_MONOTONIC);
	if (now - s->thinned < REST_NS)
		return false;
	s->thinned = now;
	thin(s, is->uid, true);
	if (!allows(s, is, 2 * bytes))
		thin(s, is->uid, false);
	return allows(s, is, bytes);
}

static bool have_slots(struct syscallsites *s)
{
	if (!s->all) {
		s->all = calloc(2 * MOST, sizeof(*s->all));
		s->room = s->all ? 2 * MOST : 0;
		shares_limit_init(&s->limit, most_bytes());
	}
	return s->all;
}

/* Add one that isn't there. */
static struct syscallsite *add(struct syscallsites *s, uint64_t hash,
			       const struct ow_recorded *is)
{
	struct syscallsite *site = NULL;

	if (have_slots(s) && make_room(s, is, least_bytes()))
		site = make(s, hash, is);
	if (site && !make_room(s, is, site->bytes)) {
		discard(site);
		return NULL;
	}
	if (site) {
		*slot_of(s, hash, is) = site;
		s->nr++;
		shares_limit_take(&s->limit, is->pid, is->uid, site->bytes);
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
		site->users++;
	}
	return site;
}

void syscallsite_release(struct syscallsite *site)
{
	if (site)
		site->users--;
}

void syscallsites_deinit(struct syscallsites *s)
{
	size_t i;

	for (i = 0; i < s->room; i++)
		if (s->all[i])
			discard(s->all[i]);
	free(s->all);
	shares_limit_deinit(&s->limit);
	*s = (struct syscallsites){ 0 };
}
