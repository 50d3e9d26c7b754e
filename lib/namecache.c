// SPDX-License-Identifier: BSD-2-Clause
#include "namecache.h"

#include <stdlib.h>
#include <string.h>

#include "budget.h"
#include "grow.h"
#include "hash.h"

struct ow_namecache_entry {
	uint64_t pc;
	uint32_t first; /* of its names */
	uint32_t nr;    /* 0: none yet */
	uid_t uid;      /* for whom they are, if that is one */
	bool is_ones;
	bool used; /* else the slot is free */
	bool back;
};

/* The slot of pc, or the one where it is to go; there are free ones. */
static struct ow_namecache_entry *slot_of(const struct ow_namecache *c,
					  uint64_t pc, bool back)
{
	size_t i = ow_hash_word(pc) + back;

	for (;; i++) {
		struct ow_namecache_entry *e = &c->entries[i & (c->room - 1)];

		if (!e->used || (e->pc == pc && e->back == back))
			return e;
	}
}

const struct ow_name *ow_namecache_find(const struct ow_namecache *c,
					uint64_t pc, bool back, uid_t uid,
					size_t *nr_ret)
{
	const struct ow_namecache_entry *e;

	if (c->room == 0)
		return NULL;
	e = slot_of(c, pc, back);
	if (e->nr == 0 || (e->is_ones && e->uid != uid))
		return NULL;
	*nr_ret = e->nr;
	return c->names + e->first;
}

static bool grow(struct ow_namecache *c)
{
	struct ow_namecache bigger = *c;
	size_t more;

	bigger.room = c->room ? 2 * c->room : 256;
	more = (bigger.room - c->room) * sizeof(*c->entries);
	if (!ow_budget_take(&c->own, more))
		return false;
	bigger.own = c->own;
	bigger.entries = calloc(bigger.room, sizeof(*bigger.entries));
	if (!bigger.entries) {
		ow_budget_give(&c->own, more);
		return false;
	}
	for (size_t i = 0; i < c->room; i++) {
		const struct ow_namecache_entry *e = &c->entries[i];

		if (e->used)
			*slot_of(&bigger, e->pc, e->back) = *e;
	}
	free(c->entries);
	*c = bigger;
	return true;
}

bool ow_namecache_expect(struct ow_namecache *c, uint64_t pc, bool back)
{
	struct ow_namecache_entry *e;

	if (2 * c->nr >= c->room && !grow(c))
		return false;
	e = slot_of(c, pc, back);
	if (e->used)
		return false;
	*e = (struct ow_namecache_entry){ .pc = pc,
					  .back = back,
					  .used = true };
	c->nr++;
	return true;
}

static bool make_room(struct ow_namecache *c, size_t nr)
{
	size_t before = c->room_names;

	if (c->nr_names > UINT32_MAX - nr)
		return false;
	/* ow_grow() makes room for twice as many and some more. */
	if (c->nr_names + nr > c->room_names &&
	    ow_budget_share(c->own) <
		    (c->room_names + nr + OW_GROW_LEAST) * sizeof(*c->names))
		return false;
	return ow_grow(&c->names, &c->room_names, c->nr_names + nr,
		       sizeof(*c->names)) &&
	       ow_budget_take(&c->own,
			      (c->room_names - before) * sizeof(*c->names));
}

/* The entry of pc with these names, in the place of others if it has as many; or NULL. */
static struct ow_namecache_entry *put(struct ow_namecache *c, uint64_t pc,
				      bool back, const struct ow_name *names,
				      size_t nr)
{
	struct ow_namecache_entry *e = c->room ? slot_of(c, pc, back) : NULL;
	bool is_larger = !e || e->nr < nr;

	if (is_larger && !make_room(c, nr))
		return NULL;
	ow_namecache_expect(c, pc, back);
	e = c->room ? slot_of(c, pc, back) : NULL;
	if (!e || !e->used)
		return NULL;
	if (is_larger) {
		e->first = (uint32_t)c->nr_names;
		c->nr_names += nr;
	}
	memcpy(c->names + e->first, names, nr * sizeof(*names));
	e->nr = (uint32_t)nr;
	return e;
}

void ow_namecache_put(struct ow_namecache *c, uint64_t pc, bool back,
		      const struct ow_name *names, size_t nr)
{
	struct ow_namecache_entry *e = put(c, pc, back, names, nr);

	if (e)
		e->is_ones = false;
}

void ow_namecache_put_for(struct ow_namecache *c, uint64_t pc, bool back,
			  uid_t uid, const struct ow_name *names, size_t nr)
{
	struct ow_namecache_entry *e = put(c, pc, back, names, nr);

	if (!e)
		return;
	e->is_ones = true;
	e->uid = uid;
}

/* Copy an entry and its names to a cache that has room for them. */
static void copy_entry(struct ow_namecache *to, const struct ow_namecache *from,
		       const struct ow_namecache_entry *e)
{
	struct ow_namecache_entry *new = slot_of(to, e->pc, e->back);

	*new = *e;
	new->first = (uint32_t)to->nr_names;
	if (e->nr)
		memcpy(to->names + to->nr_names, from->names + e->first,
		       e->nr * sizeof(*from->names));
	to->nr_names += e->nr;
	to->nr++;
}

void ow_namecache_drop(struct ow_namecache *c,
		       bool (*is_gone)(void *arg, uint64_t pc), void *arg)
{
	struct ow_namecache kept = { .room = c->room,
				     .room_names = c->room_names,
				     .own = c->own };

	if (c->room == 0)
		return;
	kept.entries = calloc(c->room, sizeof(*kept.entries));
	kept.names = calloc(c->room_names + 1, sizeof(*kept.names));
	if (!kept.entries || !kept.names) {
		free(kept.entries);
		free(kept.names);
		ow_namecache_deinit(c);
		return;
	}
	for (size_t i = 0; i < c->room; i++)
		if (c->entries[i].used && !is_gone(arg, c->entries[i].pc))
			copy_entry(&kept, c, &c->entries[i]);
	free(c->entries);
	free(c->names);
	*c = kept;
}

void ow_namecache_deinit(struct ow_namecache *c)
{
	free(c->names);
	free(c->entries);
	ow_budget_give(&c->own, c->own);
	*c = (struct ow_namecache){ 0 };
}
