// SPDX-License-Identifier: BSD-2-Clause
#include "shares.h"

#include <stdlib.h>

#include "hash.h"

#define PROCESS 6 /* eighths, */
#define USER    7

#define FEWEST 64
#define MOST   65536 /* owners that are told apart */

/* Processes that are; further ones of a user are one owner together. */
#define MOST_PROCESSES (MOST / 4 * 3)
#define MOST_OF_USER   (MOST / 8)   /* but for root */
#define TOGETHER       (1ULL << 32) /* and the user, where others have a pid */

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

/* NULL: the owner has none of its own. */
static struct share *find(const struct shares *s, uint64_t owner)
{
	struct share *share = s->room ? slot_of(s, owner) : NULL;

	return share && share->is_used ? share : NULL;
}

/* The share of an owner, also where it has none yet. */
static struct share *share_of(struct shares *s, uint64_t owner)
{
	struct share *share = find(s, owner);

	if (share)
		return share;
	if (s->nr >= MOST || (2 * (s->nr + 1) > s->room && !grow(s)))
		return &s->others;
	share = slot_of(s, owner);
	*share = (struct share){ .owner = owner, .is_used = true };
	s->nr++;
	return share;
}

/* What follows without a gap may belong to the place that is free now, or before it. */
static void remove_share(struct shares *s, struct share *share)
{
	size_t at = (size_t)(share - s->all);
	struct share moved;

	share->is_used = false;
	s->nr--;
	for (;;) {
		at = (at + 1) & (s->room - 1);
		moved = s->all[at];
		if (!moved.is_used)
			return;
		s->all[at].is_used = false;
		*slot_of(s, moved.owner) = moved;
	}
}

uint64_t shares_left(const struct shares *s, uint64_t owner)
{
	const struct share *share = find(s, owner);
	uint64_t own, others, part;

	if (!share && s->nr >= MOST)
		share = &s->others;
	own = share ? share->taken : 0;
	others = s->taken - own;
	if (others >= s->most)
		return 0;
	part = (s->most - others) / 8 * s->eighths;
	return part > own ? part - own : 0;
}

static void take(struct shares *s, struct share *share, uint64_t size)
{
	share->taken += size;
	s->taken += size;
}

/* Give back up to size of what a share has; return how much. */
static uint64_t give(struct shares *s, struct share *share, uint64_t size)
{
	if (size > share->taken)
		size = share->taken;
	share->taken -= size;
	s->taken -= size;
	return size;
}

/* Likewise of an owner's own share, which goes when nothing needs it any more. */
static uint64_t give_own(struct shares *s, uint64_t owner, uint64_t size)
{
	struct share *share = find(s, owner);

	if (!share)
		return 0;
	size = give(s, share, size);
	if (!share->taken && !share->is_refused && !share->nr_processes)
		remove_share(s, share);
	return size;
}

static void refuse(struct shares *s, struct share *share)
{
	s->nr_refused += !share->is_refused;
	share->is_refused = true;
}

void shares_take(struct shares *s, uint64_t owner, uint64_t size)
{
	take(s, share_of(s, owner), size);
}

void shares_give(struct shares *s, uint64_t owner, uint64_t size)
{
	give(s, &s->others, size - give_own(s, owner, size));
}

void shares_refuse(struct shares *s, uint64_t owner)
{
	refuse(s, share_of(s, owner));
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

/* The owner whose share a process has: itself, or its user's processes together. */
static uint64_t owner_of(const struct shares_limit *l, pid_t pid, uid_t uid)
{
	const struct share *user = find(&l->users, uid);

	if (find(&l->processes, (uint64_t)pid))
		return (uint64_t)pid;
	if (l->processes.nr >= MOST_PROCESSES ||
	    (uid && user && user->nr_processes >= MOST_OF_USER))
		return TOGETHER | uid;
	return (uint64_t)pid;
}

/* The share that a process has, also where it has none yet. */
static struct share *process_share(struct shares_limit *l, pid_t pid, uid_t uid)
{
	uint64_t owner = owner_of(l, pid, uid);
	size_t nr = l->processes.nr;
	struct share *share = share_of(&l->processes, owner);

	if (owner == (uint64_t)pid && l->processes.nr > nr)
		share_of(&l->users, uid)->nr_processes++;
	return share;
}

/* Give back up to size of what a process has by itself; return how much. */
static uint64_t give_process(struct shares_limit *l, pid_t pid, uid_t uid,
			     uint64_t size)
{
	struct share *user = find(&l->users, uid);
	size_t nr = l->processes.nr;

	size = give_own(&l->processes, (uint64_t)pid, size);
	if (l->processes.nr < nr && user && user->nr_processes)
		user->nr_processes--;
	return size;
}

uint64_t shares_limit_left(const struct shares_limit *l, pid_t pid, uid_t uid)
{
	uint64_t left = shares_left(&l->processes, owner_of(l, pid, uid));
	uint64_t users;

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
	take(&l->processes, process_share(l, pid, uid), size);
	shares_take(&l->users, uid, size);
}

void shares_limit_give(struct shares_limit *l, pid_t pid, uid_t uid,
		       uint64_t size)
{
	uint64_t own = give_process(l, pid, uid, size);

	shares_give(&l->processes, TOGETHER | uid, size - own);
	shares_give(&l->users, uid, size);
}

void shares_limit_refuse(struct shares_limit *l, pid_t pid, uid_t uid)
{
	refuse(&l->processes, process_share(l, pid, uid));
}

void shares_limit_deinit(struct shares_limit *l)
{
	shares_deinit(&l->processes);
	shares_deinit(&l->users);
}
