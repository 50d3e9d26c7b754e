// SPDX-License-Identifier: BSD-2-Clause
#include "tableseq.h"

#include <stdlib.h>
#include <string.h>

#define CLOSE    8  /* rows further apart than this are not one run */
#define MAX_SIZE 16 /* of a run: three bytes a row fit a sequence */
#define MAX_SEQS (OW_TABLE_MAX_NUMBER + 1)

/* A run of rows, and how often one like it occurs. */
struct run {
	size_t first; /* in the flat rows, of its first occurrence */
	uint32_t count;
	uint16_t number; /* of the sequence made of it, or 0 */
	uint8_t size;
};

struct runs {
	const struct ow_flat_row *flat;
	size_t nr;
	struct run *slots; /* a hash by content */
	size_t mask;
	struct run **found; /* one after another as they occur; NULL: a row that
			       is none */
};

/* Rows from i on that make one run. */
static uint8_t run_size(const struct ow_flat_row *flat, size_t nr, size_t i)
{
	size_t k = i + 1;

	while (k < nr && k - i < MAX_SIZE && !flat[k].entry &&
	       flat[k].vaddr - flat[k - 1].vaddr <= CLOSE)
		k++;
	return (uint8_t)(k - i);
}

static uint64_t run_hash(const struct ow_flat_row *row, uint8_t size)
{
	uint64_t hash = size;
	uint8_t i;

	for (i = 0; i < size; i++) {
		hash ^= (row[i].vaddr - row[0].vaddr) << 16 | row[i].rule;
		hash *= 0x9e3779b97f4a7c15ULL;
		hash ^= hash >> 32;
	}
	return hash;
}

static bool same_run(const struct ow_flat_row *a, const struct ow_flat_row *b,
		     uint8_t size)
{
	uint8_t i;

	for (i = 0; i < size; i++)
		if (a[i].rule != b[i].rule ||
		    a[i].vaddr - a[0].vaddr != b[i].vaddr - b[0].vaddr)
			return false;
	return true;
}

/* The entry of the run of that size at i; an empty one if it is new. */
static struct run *find_run(const struct runs *r, size_t i, uint8_t size)
{
	size_t slot = run_hash(r->flat + i, size) & r->mask;
	struct run *run;

	for (;; slot = (slot + 1) & r->mask) {
		run = &r->slots[slot];
		if (run->count == 0 ||
		    (run->size == size &&
		     same_run(r->flat + run->first, r->flat + i, size)))
			return run;
	}
}

static void count_runs(struct runs *r)
{
	struct run *run;
	uint8_t size;
	size_t i, nr = 0;

	for (i = 0; i < r->nr; i += size) {
		size = run_size(r->flat, r->nr, i);
		run = size > 1 ? find_run(r, i, size) : NULL;
		r->found[nr++] = run;
		if (run && run->count++ == 0) {
			run->first = i;
			run->size = size;
		}
	}
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
		run = r->found[nr++];
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
	struct runs r = { .flat = flat, .nr = nr, .mask = 1 };
	int failed = -1;

	memset(s, 0, sizeof(*s));
	while (r.mask < nr) /* at most half as many runs as rows */
		r.mask = 2 * r.mask + 1;
	r.slots = calloc(r.mask + 1, sizeof(*r.slots));
	r.found = malloc((nr + 1) * sizeof(struct run *));
	s->rows = malloc((nr + 1) * sizeof(*s->rows));
	s->seqs = malloc(MAX_SEQS * sizeof(*s->seqs));
	if (r.slots && r.found && s->rows && s->seqs) {
		count_runs(&r);
		rewrite(s, &r, first_number);
		failed = 0;
	}
	free(r.slots);
	free(r.found);
	return failed;
}

void ow_seqs_free(struct ow_seqs *s)
{
	free(s->rows);
	free(s->seqs);
}
