// SPDX-License-Identifier: BSD-2-Clause
#include "tableseq.h"

#include <stdlib.h>
#include <string.h>

#include "hash.h"
#include "hugemem.h"

#define CLOSE    8  /* rows further apart than this are not one run */
#define MAX_SIZE 16 /* of a run: three bytes a row fit a sequence */
#define PRIME    (((uint64_t)1 << 61) - 1)
#define MAX_SEQS (OW_TABLE_MAX_NUMBER + 1)

/* A run of rows, and how often one like it occurs. */
struct run {
	uint32_t first; /* in the flat rows, of its first occurrence */
	uint32_t hash;  /* of its content */
	uint32_t count;
	uint16_t number; /* of the sequence made of it, or 0 */
	uint8_t size;
};

/*
 * All different runs.  They are few beside the rows, and so is the memory that
 * looking for one goes through.
 */
struct runs {
	const struct ow_flat_row *flat;
	size_t nr;
	uint64_t key; /* of hashes; below half of the prime */
	struct run *all;
	uint32_t nr_runs, room;
	uint32_t *slots; /* a hash by content: 1 + number; at most half full */
	uint32_t mask;
	uint32_t *found; /* one after another as they occur: 1 + number, or 0
			    for a row that is none */
};

/* Rows from i on that make one run. */
static uint8_t run_size(const struct ow_flat_row *flat, size_t nr, size_t i)
{
	size_t k = i + 1;

	while (k < nr && k - i < MAX_SIZE && !flat[k].entry &&
	       flat[k].off - flat[k - 1].off <= CLOSE)
		k++;
	return (uint8_t)(k - i);
}

/*
 * A polynomial of the content at a secret point, modulo 2^61 - 1: so no two runs are
 * known to have the same hash, and there are too many runs for SipHash.
 */
static uint32_t run_hash(const struct runs *r, size_t at, uint8_t size)
{
	const struct ow_flat_row *row = r->flat + at;
	unsigned __int128 product;
	uint64_t hash = size;
	uint8_t i;

	for (i = 0; i < size; i++) {
		product = (unsigned __int128)hash * r->key;
		hash = (uint64_t)(product >> 61) + ((uint64_t)product & PRIME);
		hash += (uint64_t)(row[i].off - row[0].off) << 16 | row[i].rule;
	}
	return (uint32_t)hash;
}

static bool same_run(const struct ow_flat_row *a, const struct ow_flat_row *b,
		     uint8_t size)
{
	uint8_t i;

	for (i = 0; i < size; i++)
		if (a[i].rule != b[i].rule ||
		    a[i].off - a[0].off != b[i].off - b[0].off)
			return false;
	return true;
}

/* The slot of the run of that size at i; an empty one if it is new. */
static uint32_t *find_slot(const struct runs *r, size_t i, uint8_t size,
			   uint32_t hash)
{
	uint32_t at = hash & r->mask;
	const struct run *run;

	for (;; at = (at + 1) & r->mask) {
		if (r->slots[at] == 0)
			return &r->slots[at];
		run = &r->all[r->slots[at] - 1];
		if (run->hash == hash && run->size == size &&
		    same_run(r->flat + run->first, r->flat + i, size))
			return &r->slots[at];
	}
}

/* Where a run goes that isn't there. */
static uint32_t *free_slot(const struct runs *r, uint32_t hash)
{
	uint32_t at = hash & r->mask;

	while (r->slots[at])
		at = (at + 1) & r->mask;
	return &r->slots[at];
}

/* Room for twice as many. */
static bool grow(struct runs *r)
{
	uint32_t room = r->room ? 2 * r->room : 4096, i;
	void *all = realloc(r->all, room * sizeof(*r->all));

	if (!all)
		return false;
	r->all = all;
	r->room = room;
	free(r->slots);
	r->mask = 2 * room - 1;
	r->slots = calloc(2 * (size_t)room, sizeof(*r->slots));
	for (i = 0; r->slots && i < r->nr_runs; i++)
		*free_slot(r, r->all[i].hash) = i + 1;
	return r->slots != NULL;
}

/* 1 + the number of the run of that size at i, or 0 when out of memory. */
static uint32_t find_run(struct runs *r, size_t i, uint8_t size)
{
	uint32_t *slot, hash;

	if (r->nr_runs == r->room && !grow(r))
		return 0;
	hash = run_hash(r, i, size);
	slot = find_slot(r, i, size, hash);
	if (*slot == 0) {
		r->all[r->nr_runs++] = (struct run){ .first = (uint32_t)i,
						     .hash = hash,
						     .size = size };
		*slot = r->nr_runs;
	}
	return *slot;
}

static bool count_runs(struct runs *r)
{
	uint32_t run;
	uint8_t size;
	size_t i, nr = 0;

	for (i = 0; i < r->nr; i += size) {
		size = run_size(r->flat, r->nr, i);
		run = size > 1 ? find_run(r, i, size) : 0;
		if (size > 1 && run == 0)
			return false;
		r->found[nr++] = run;
		if (run)
			r->all[run - 1].count++;
	}
	return true;
}

/*
 * Is a row for each occurrence and the parts once less than all its rows?  Two
 * bytes a row, three for the meaning and one for the end.
 */
static bool worth_it(const struct run *run)
{
	return run->count * 2u * (run->size - 1u) > 2u * run->size + 4u;
}

static void add_seq(struct ow_seqs *s, struct run *run, uint32_t first_number)
{
	run->number = (uint16_t)(first_number + s->nr_seqs);
	s->seqs[s->nr_seqs++] = (struct ow_seq){ run->first, run->size };
}

static bool has_room(const struct ow_seqs *s, uint32_t first_number)
{
	return first_number + s->nr_seqs <= OW_TABLE_MAX_NUMBER;
}

/* The rows again, with sequences in place of the runs that are worth it. */
static void rewrite(struct ow_seqs *s, const struct runs *r,
		    uint32_t first_number)
{
	struct run *run;
	uint8_t size, k;
	size_t i, nr = 0;

	for (i = 0; i < r->nr; i += size) {
		run = r->found[nr] ? &r->all[r->found[nr] - 1] : NULL;
		nr++;
		size = run ? run->size : 1;
		if (run && !run->number && worth_it(run) &&
		    has_room(s, first_number))
			add_seq(s, run, first_number);
		if (run && run->number) {
			s->rows[s->nr_rows] = r->flat[i];
			s->rows[s->nr_rows++].rule = run->number;
			continue;
		}
		for (k = 0; k < size; k++)
			s->rows[s->nr_rows++] = r->flat[i + k];
	}
}

int ow_seqs_make(struct ow_seqs *s, const struct ow_flat_row *flat, size_t nr,
		 uint32_t first_number)
{
	struct runs r = { .flat = flat,
			  .nr = nr,
			  .key = ow_hash_word(nr) >> 4 };
	int failed = -1;

	memset(s, 0, sizeof(*s));
	s->room = nr + 1;
	r.found = ow_hugemem_alloc(s->room * sizeof(*r.found));
	s->rows = ow_hugemem_alloc(s->room * sizeof(*s->rows));
	s->seqs = malloc(MAX_SEQS * sizeof(*s->seqs));
	if (r.found && s->rows && s->seqs && count_runs(&r)) {
		rewrite(s, &r, first_number);
		failed = 0;
	}
	free(r.all);
	free(r.slots);
	ow_hugemem_free(r.found, s->room * sizeof(*r.found));
	return failed;
}

void ow_seqs_free(struct ow_seqs *s)
{
	ow_hugemem_free(s->rows, s->room * sizeof(*s->rows));
	free(s->seqs);
}
