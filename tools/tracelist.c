// SPDX-License-Identifier: BSD-2-Clause
#include "tracelist.h"

#include <stdlib.h>

#include "budget.h"
#include "hash.h"

#define FIRST_BUCKETS 64
#define BESIDE        16 /* bytes that malloc() takes beside */

static size_t bucket_of(struct trace_key key, size_t nr_buckets)
{
	const uint64_t words[] = { (uintptr_t)key.host, (uint64_t)key.id };

	return ow_hash(words, sizeof(words)) & (nr_buckets - 1);
}

static void move_all(struct trace_list *l, struct trace_record **to,
		     size_t nr_buckets)
{
	struct trace_record *r, *next, **bucket;
	size_t i;

	for (i = 0; i < l->nr_buckets; i++)
		for (r = l->buckets[i]; r; r = next) {
			next = r->next;
			bucket = &to[bucket_of(r->key, nr_buckets)];
			r->next = *bucket;
			*bucket = r;
		}
}

/* Where there is no memory for that, chains are longer. */
static void grow(struct trace_list *l)
{
	size_t nr = l->nr_buckets ? 2 * l->nr_buckets : FIRST_BUCKETS;
	size_t more = (nr - l->nr_buckets) * sizeof(struct trace_record *);
	struct trace_record **buckets;

	if (!ow_budget_take(&l->own, more))
		return;
	buckets = calloc(nr, sizeof(*buckets));
	if (!buckets) {
		ow_budget_give(&l->own, more);
		return;
	}
	move_all(l, buckets, nr);
	free(l->buckets);
	l->buckets = buckets;
	l->nr_buckets = nr;
}

void *trace_list_get(const struct trace_list *l, struct trace_key key)
{
	struct trace_record *r;

	if (!l->nr_buckets)
		return NULL;
	for (r = l->buckets[bucket_of(key, l->nr_buckets)]; r; r = r->next)
		if (r->key.id == key.id && r->key.host == key.host)
			return r;
	return NULL;
}

void *trace_list_add(struct trace_list *l, size_t size, struct trace_key key,
		     size_t *own)
{
	struct trace_record *r = trace_list_get(l, key), **bucket;

	if (r)
		return r;
	if (!own)
		own = &l->own;
	if (l->nr >= l->nr_buckets)
		grow(l);
	if (!l->nr_buckets || !ow_budget_take(own, size + BESIDE))
		return NULL;
	r = calloc(1, size);
	if (!r) {
		ow_budget_give(own, size + BESIDE);
		return NULL;
	}
	bucket = &l->buckets[bucket_of(key, l->nr_buckets)];
	r->key = key;
	r->next = *bucket;
	*bucket = r;
	l->nr++;
	return r;
}

void trace_list_remove(struct trace_list *l, void *record, size_t size,
		       size_t *own)
{
	struct trace_record *r = record, **at;

	at = &l->buckets[bucket_of(r->key, l->nr_buckets)];
	while (*at != r)
		at = &(*at)->next;
	*at = r->next;
	free(r);
	ow_budget_give(own ? own : &l->own, size + BESIDE);
	l->nr--;
}

void trace_list_each(const struct trace_list *l, void (*each)(void *record))
{
	struct trace_record *r;
	size_t i;

	for (i = 0; i < l->nr_buckets; i++)
		for (r = l->buckets[i]; r; r = r->next)
			each(r);
}

void trace_list_deinit(struct trace_list *l)
{
	struct trace_record *r, *next;
	size_t i;

	for (i = 0; i < l->nr_buckets; i++)
		for (r = l->buckets[i]; r; r = next) {
			next = r->next;
			free(r);
		}
	free(l->buckets);
	ow_budget_give(&l->own, l->own);
	*l = (struct trace_list){ 0 };
}
