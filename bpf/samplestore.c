// SPDX-License-Identifier: BSD-2-Clause
#include "samplestore.h"

#include <stdlib.h>
#include <string.h>

#include "hash.h"
#include "monotonic.h"

#define FEWEST      1024 /* slots */
#define MOST_FOLDED 4096 /* processes whose stacks are folded, by kind */
#define PROCESS     ((uint64_t)1 << 32)
#define USER        ((uint64_t)2 << 32)

static const uint8_t events[] = {
	[OW_SAMPLE_CPU] = OW_RECORD_CPU,
	[OW_SAMPLE_OFF_CPU] = OW_RECORD_OFF_CPU,
	[OW_SAMPLE_FAULT] = OW_RECORD_FAULTS,
	[OW_SAMPLE_SYSCALL] = OW_RECORD_SYSCALLS,
};

static struct ow_stored **slot_of(const struct ow_samplestore *s,
				  const struct ow_sample_key *key)
{
	size_t i = ow_hash(key, sizeof(*key)) & (s->room - 1);

	for (;; i = (i + 1) & (s->room - 1))
		if (!s->slots[i] ||
		    memcmp(&s->slots[i]->key, key, sizeof(*key)) == 0)
			return &s->slots[i];
}

/* The key that stands for stacks of a process that have no room. */
static struct ow_sample_key folded_key(const struct ow_sample_key *key)
{
	struct ow_sample_key folded = *key;

	ow_sample_fold(&folded);
	return folded;
}

struct ow_stored *ow_samplestore_find(const struct ow_samplestore *s,
				      const struct ow_sample_key *key)
{
	struct ow_stored *stored = s->room ? *slot_of(s, key) : NULL;
	struct ow_sample_key folded = folded_key(key);

	return stored || !s->nr_folded ? stored : *slot_of(s, &folded);
}

/* Have so many slots. */
static bool resize(struct ow_samplestore *s, size_t room)
{
	struct ow_samplestore other = *s;
	size_t i;

	other.room = room;
	other.slots = calloc(room, sizeof(*other.slots));
	if (!other.slots)
		return false;
	for (i = 0; i < s->room; i++)
		if (s->slots[i])
			*slot_of(&other, &s->slots[i]->key) = s->slots[i];
	free(s->slots);
	*s = other;
	return true;
}

static struct ow_store_share *share_slot(struct ow_store_share *all,
					 size_t room, uint64_t owner)
{
	size_t i = ow_hash_word(owner) & (room - 1);

	while (all[i].owner && all[i].owner != owner)
		i = (i + 1) & (room - 1);
	return &all[i];
}

static bool grow_shares(struct ow_samplestore *s)
{
	size_t room = s->room_shares ? 2 * s->room_shares : 64, i;
	struct ow_store_share *more = calloc(room, sizeof(*more)), *from;

	if (!more)
		return false;
	for (i = 0; i < s->room_shares; i++) {
		from = &s->shares[i];
		if (from->owner)
			*share_slot(more, room, from->owner) = *from;
	}
	free(s->shares);
	s->shares = more;
	s->room_shares = room;
	return true;
}

/* Have room for two more, which are looked up without fail then. */
static bool ready_shares(struct ow_samplestore *s)
{
	return 2 * (s->nr_shares + 2) <= s->room_shares || grow_shares(s);
}

static bool may_take(const struct ow_samplestore *s, uint64_t owner,
		     size_t size)
{
	size_t own = share_slot(s->shares, s->room_shares, owner)->bytes;
	size_t others = s->bytes - own;

	return others < s->limit && own + size <= (s->limit - others) / 2;
}

static void take_share(struct ow_samplestore *s, uint64_t owner, size_t size)
{
	struct ow_store_share *share =
		share_slot(s->shares, s->room_shares, owner);

	s->nr_shares += !share->owner;
	share->owner = owner;
	share->bytes += size;
}

/* Whether a process, of a user, may have a stack of that size more. */
static bool has_room(struct ow_samplestore *s, pid_t pid, uid_t uid,
		     size_t size)
{
	if (!s->limit)
		return true;
	return ready_shares(s) && may_take(s, PROCESS | (uint32_t)pid, size) &&
	       (uid == 0 || may_take(s, USER | uid, size));
}

/* Where there is no memory the owners may take a little more than they should. */
static void account(struct ow_samplestore *s, const struct ow_recorded *r,
		    uid_t uid, size_t size)
{
	s->nr++;
	s->bytes += size;
	if (!s->limit || r->is_folded || !ready_shares(s))
		return;
	take_share(s, PROCESS | (uint32_t)r->pid, size);
	if (uid)
		take_share(s, USER | uid, size);
}

static size_t size_of(const struct ow_recorded *r)
{
	return sizeof(struct ow_stored) + 8 * ((size_t)r->nr_kernel + r->nr);
}

static struct ow_stored *make(const struct ow_samplestore *s,
			      const struct ow_bpf_stack *head,
			      const uint64_t *frames, uint64_t time)
{
	size_t nr = (size_t)head->nr_kernel + head->nr;
	struct ow_stored *e = calloc(1, sizeof(*e) + 8 * nr);

	if (!e)
		return NULL;
	e->key = head->key;
	e->uid = head->uid;
	e->used = s->period;
	if (nr)
		memcpy(e + 1, frames, 8 * nr);
	e->is = (struct ow_recorded){
		.pid = (pid_t)head->key.pid,
		.tid = (pid_t)head->tid,
		.uid = head->uid,
		.kind = head->key.kind < sizeof(events) ?
				events[head->key.kind] :
				0,
		.end = head->key.end,
		.nr_kernel = head->nr_kernel,
		.nr = head->nr,
		.packed = (const uint64_t *)(e + 1),
		.image = head->key.image,
		.since = time,
	};
	memcpy(e->is.comm, head->comm, sizeof(e->is.comm) - 1);
	return e;
}

/* One for all stacks of a process that have no room; NULL: there isn't any. */
static struct ow_stored *fold(struct ow_samplestore *s,
			      const struct ow_bpf_stack *head, uint64_t time)
{
	struct ow_bpf_stack bare = *head;
	struct ow_stored **slot;

	if (!ow_sample_is_folded(&head->key))
		s->is_short = s->was_short = true;
	bare.key = folded_key(&head->key);
	bare.nr_kernel = bare.nr = 0;
	slot = slot_of(s, &bare.key);
	if (*slot || s->nr_folded >= MOST_FOLDED)
		return *slot;
	*slot = make(s, &bare, NULL, time);
	if (!*slot)
		return NULL;
	(*slot)->is.is_folded = true;
	s->nr_folded++;
	s->nr_ever++;
	account(s, &(*slot)->is, head->uid, size_of(&(*slot)->is));
	return *slot;
}

struct ow_stored *ow_samplestore_add(struct ow_samplestore *s,
				     const struct ow_bpf_stack *head,
				     const uint64_t *frames, uint64_t time)
{
	size_t size = sizeof(struct ow_stored) +
		      8 * ((size_t)head->nr_kernel + head->nr);
	struct ow_stored **slot;

	if (2 * s->nr >= s->room && !resize(s, s->room ? 2 * s->room : FEWEST))
		return NULL;
	slot = slot_of(s, &head->key);
	if (*slot) {
		/* The kernel knows of it again. */
		ow_samplestore_use(s, *slot);
		return *slot;
	}
	if (ow_sample_is_folded(&head->key) ||
	    !has_room(s, (pid_t)head->key.pid, head->uid, size))
		return fold(s, head, time);
	*slot = make(s, head, frames, time);
	if (!*slot)
		return NULL;
	s->nr_ever++;
	account(s, &(*slot)->is, head->uid, size);
	return *slot;
}

/* A stack that was counted, and the turn that it has. */
struct turn {
	struct ow_stored *stored;
	size_t at;
};

/* Sort by process, the stacks first that came most. */
static int compare_owners(const void *a, const void *b)
{
	const struct ow_stored *x = ((const struct turn *)a)->stored;
	const struct ow_stored *y = ((const struct turn *)b)->stored;

	if (x->is.pid != y->is.pid)
		return x->is.pid < y->is.pid ? -1 : 1;
	return (x->is.count < y->is.count) - (x->is.count > y->is.count);
}

static int compare_turns(const void *a, const void *b)
{
	const struct turn *x = a, *y = b;

	return (x->at > y->at) - (x->at < y->at);
}

/* Sort by user, root first, and a user's stacks by the turns of their processes. */
static int compare_users(const void *a, const void *b)
{
	const struct turn *x = a, *y = b;

	if (x->stored->uid != y->stored->uid)
		return x->stored->uid < y->stored->uid ? -1 : 1;
	return compare_turns(a, b);
}

/*
 * Number the stacks of each process, and then the stacks of each user but root: so the
 * second stack of anybody's comes after the first stack of everybody else.
 */
static void take_turns(struct turn *turns, size_t nr)
{
	const struct ow_stored *is, *last = NULL;
	size_t i, n = 0;

	qsort(turns, nr, sizeof(*turns), compare_owners);
	for (i = 0; i < nr; i++) {
		is = turns[i].stored;
		n = last && last->is.pid == is->is.pid ? n + 1 : 0;
		turns[i].at = n;
		last = is;
	}
	qsort(turns, nr, sizeof(*turns), compare_users);
	for (i = 0, last = NULL; i < nr; i++) {
		is = turns[i].stored;
		n = last && last->uid == is->uid ? n + 1 : 0;
		if (is->uid)
			turns[i].at = n;
		last = is;
	}
	qsort(turns, nr, sizeof(*turns), compare_turns);
}

static void drain_one(struct ow_stored *e, uint64_t now,
		      bool (*take)(void *arg, const struct ow_recorded *r),
		      void *arg)
{
	struct ow_recorded *r = &e->is;

	if (r->count && !take(arg, r))
		return;
	r->count = r->value = 0;
	e->fresh = 0;
	r->since = now;
}

void ow_samplestore_drain(struct ow_samplestore *s,
			  bool (*take)(void *arg, const struct ow_recorded *r),
			  void *arg)
{
	struct turn *turns = s->nr ? malloc(s->nr * sizeof(*turns)) : NULL;
	uint64_t now = ow_now_ns();
	struct ow_stored *e;
	size_t i, nr = 0;

	s->is_short = false;
	for (i = 0; i < s->room; i++) {
		e = s->slots[i];
		if (!e)
			continue;
		if (e->is.count)
			e->used = s->period + 1;
		if (e->is.count && turns)
			turns[nr++].stored = e;
		else
			drain_one(e, now, take, arg);
	}
	if (nr)
		take_turns(turns, nr);
	for (i = 0; i < nr; i++)
		drain_one(turns[i].stored, now, take, arg);
	free(turns);
}

void ow_samplestore_use(const struct ow_samplestore *s,
			struct ow_stored *stored)
{
	stored->used = s->period;
}

static bool is_unused(const struct ow_samplestore *s, const struct ow_stored *e)
{
	return e->used + 2 <= s->period;
}

void ow_samplestore_drop(struct ow_samplestore *s,
			 void (*forget)(void *arg, const struct ow_recorded *r),
			 void *arg)
{
	struct ow_samplestore less = { .room = FEWEST,
				       .limit = s->limit,
				       .nr_ever = s->nr_ever,
				       .period = ++s->period,
				       .is_short = s->is_short,
				       .was_short = s->was_short };
	struct ow_stored *e;
	size_t i, nr = 0;

	for (i = 0; i < s->room; i++)
		nr += s->slots[i] && !is_unused(s, s->slots[i]);
	while (less.room <= 2 * nr)
		less.room *= 2;
	less.slots = nr < s->nr ? calloc(less.room, sizeof(*less.slots)) : NULL;
	if (!less.slots)
		return;
	for (i = 0; i < s->room; i++) {
		e = s->slots[i];
		if (!e)
			continue;
		if (!is_unused(s, e)) {
			*slot_of(&less, &e->key) = e;
			less.nr_folded += e->is.is_folded;
			account(&less, &e->is, e->uid, size_of(&e->is));
			continue;
		}
		forget(arg, &e->is);
		free(e);
	}
	free(s->slots);
	free(s->shares);
	*s = less;
}

void ow_samplestore_deinit(struct ow_samplestore *s)
{
	size_t i;

	for (i = 0; i < s->room; i++)
		free(s->slots[i]);
	free(s->slots);
	free(s->shares);
	*s = (struct ow_samplestore){ 0 };
}
