// SPDX-License-Identifier: BSD-2-Clause
#include "samplestore.h"

#include <stdlib.h>
#include <string.h>

#include "hash.h"
#include "monotonic.h"

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

struct ow_stored *ow_samplestore_find(const struct ow_samplestore *s,
				      const struct ow_sample_key *key)
{
	return s->room ? *slot_of(s, key) : NULL;
}

static bool grow(struct ow_samplestore *s)
{
	struct ow_samplestore more = { .room = s->room ? 2 * s->room : 1024 };
	size_t i;

	more.slots = calloc(more.room, sizeof(*more.slots));
	if (!more.slots)
		return false;
	for (i = 0; i < s->room; i++)
		if (s->slots[i])
			*slot_of(&more, &s->slots[i]->key) = s->slots[i];
	more.nr = s->nr;
	more.nr_ever = s->nr_ever;
	more.bytes = s->bytes;
	free(s->slots);
	*s = more;
	return true;
}

static size_t size_of(const struct ow_recorded *r)
{
	return sizeof(struct ow_stored) + 8 * ((size_t)r->nr_kernel + r->nr);
}

static struct ow_stored *make(const struct ow_bpf_stack *head,
			      const uint64_t *frames, uint64_t time)
{
	size_t nr = (size_t)head->nr_kernel + head->nr;
	struct ow_stored *e = calloc(1, sizeof(*e) + 8 * nr);

	if (!e)
		return NULL;
	e->key = head->key;
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

struct ow_stored *ow_samplestore_add(struct ow_samplestore *s,
				     const struct ow_bpf_stack *head,
				     const uint64_t *frames, uint64_t time)
{
	struct ow_stored **slot;

	if (2 * s->nr >= s->room && !grow(s))
		return NULL;
	slot = slot_of(s, &head->key);
	if (*slot)
		return *slot;
	*slot = make(head, frames, time);
	if (!*slot)
		return NULL;
	s->nr++;
	s->nr_ever++;
	s->bytes += size_of(&(*slot)->is);
	return *slot;
}

void ow_samplestore_drain(struct ow_samplestore *s,
			  bool (*take)(void *arg, const struct ow_recorded *r),
			  void *arg)
{
	uint64_t now = ow_now_ns();
	struct ow_recorded *r;
	size_t i;

	for (i = 0; i < s->room; i++) {
		if (!s->slots[i])
			continue;
		r = &s->slots[i]->is;
		s->slots[i]->unused = r->count ? 0 : s->slots[i]->unused + 1;
		if (r->count && !take(arg, r))
			continue;
		r->count = r->value = 0;
		r->since = now;
	}
}

void ow_samplestore_drop(struct ow_samplestore *s,
			 void (*forget)(void *arg, const struct ow_recorded *r),
			 void *arg)
{
	struct ow_samplestore less = { .room = 1024 };
	size_t i, nr = 0;

	for (i = 0; i < s->room; i++)
		nr += s->slots[i] && s->slots[i]->unused < 2;
	while (less.room <= 2 * nr)
		less.room *= 2;
	less.slots = nr < s->nr ? calloc(less.room, sizeof(*less.slots)) : NULL;
	if (!less.slots)
		return;
	less.nr = nr;
	less.nr_ever = s->nr_ever;
	for (i = 0; i < s->room; i++) {
		if (!s->slots[i])
			continue;
		if (s->slots[i]->unused < 2) {
			*slot_of(&less, &s->slots[i]->key) = s->slots[i];
			less.bytes += size_of(&s->slots[i]->is);
			continue;
		}
		forget(arg, &s->slots[i]->is);
		free(s->slots[i]);
	}
	free(s->slots);
	*s = less;
}

void ow_samplestore_deinit(struct ow_samplestore *s)
{
	size_t i;

	for (i = 0; i < s->room; i++)
		free(s->slots[i]);
	free(s->slots);
	*s = (struct ow_samplestore){ 0 };
}
