// SPDX-License-Identifier: BSD-2-Clause
#include "shares.h"

#include <stdlib.h>

#include "hash.h"

#define PROCESS 6 /* eighths, */
#define USER    7

#define FEWEST 64
#define MOST   65536 /* owners that are told apart */

static struct share *slot_of(const struct shares *s, uint64_t owner)
{
	size_t i;

	for (i = ow_hash_word(owner) & (s->room - 1);;
	     i = (i + 1) & (s->room - 1))
		if (!s->all[i].is_used || s->all[i].owner == owner)
			return &s->all[i];
}

static bool grow(struct shares *s)
{
	struct shares more = *s;
	size_t i;

	more.room = s->room ? 2 * s->room : FEWEST;
	more.all = calloc(more.room, sizeof(*more.all));
	if (!more.all)
		return false;
	for (i = 0; i < s->room; i++)
		if (s->all[i].is_used)
			*slot_of(&more, s->all[i].owner) = s->all[i];
	free(s->all);
	*s = more;
	return true;
}

/* The share of an owner, also where it has none yet. */
static struct share *share_of(struct shares *s, uint64_t owner)
{
	struct share *share = s->room ? slot_of(s, owner) : NULL;

	if (share && share->is_used)
		return share;
	if (s->nr >= MOST || (2 * (s->nr + 1) > s->room && !grow(s)))
		return &s->others;
	share = slot_of(s, owner);
	*share = (struct share){ .owner = owner, .is_used = true };
	s->nr++;
	return share;
}

uint64_t shares_left(const struct shares *s, uint64_t owner)
{
	const struct share *share = s->room ? slot_of(s, owner) : NULL;
	uint64_t own, others, part;

	if (!share || (!share->is_used && s->nr >= MOST))
		share = &s->others;
	own = share->taken;
	others = s->taken - own;
	if (others >= s->most)
		return 0;
	part = (s->most - others) / 8 * s->eighths;
	return part > own ? part - own : 0;
}

void shares_take(struct shares *s, uint64_t owner, uint64_t size)
{
	share_of(s, owner)->taken += size;
	s->taken += size;
}

void shares_give(struct shares *s, uint64_t owner, uint64_t size)
{
	struct share *share = share_of(s, owner);

	if (size > share->taken)
		size = share->taken;
	share->taken -= size;
	s->taken -= size;
}

void shares_refuse(struct shares *s, uint64_t owner)
{
	struct share *share = share_of(s, owner);

	s->nr_refused += !share->is_refused;
	share->is_refused = true;
}

void shares_deinit(struct shares *s)
{
	free(s->all);
	*s = (struct shares){ 0 };
}

void shares_limit_init(struct shares_limit *l, uint64_t most)
{
	l->processes = (struct shares){ .most = most, .eighths = PROCESS };
	l->users = (struct shares){ .most = most, .eighths = USER };
}

uint64_t shares_limit_left(const struct shares_limit *l, pid_t pid, uid_t uid)
{
	uint64_t left = shares_left(&l->processes, (uint64_t)pid), users;

	if (uid == 0)
		return left;
	users = shares_left(&l->users, uid);
	return left < users ? left : users;
}

bool shares_limit_allows(const struct shares_limit *l, pid_t pid, uid_t uid,
			 uint64_t size)
{
	return size <= shares_limit_left(l, pid, uid);
}

void shares_limit_take(struct shares_limit *l, pid_t pid, uid_t uid,
		       uint64_t size)
{
	shares_take(&l->processes, (uint64_t)pid, size);
	shares_take(&l->users, uid, size);
}

void shares_limit_give(struct shares_limit *l, pid_t pid, uid_t uid,
		       uint64_t size)
{
	shares_give(&l->processes, (uint64_t)pid, size);
	shares_give(&l->users, uid, size);
}

void shares_limit_deinit(struct shares_limit *l)
{
	shares_deinit(&l->processes);
	shares_deinit(&l->users);
}
