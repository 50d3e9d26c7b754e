// SPDX-License-Identifier: BSD-2-Clause
#include "stackcopy.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "budget.h"
#include "delegate.h"
#include "monotonic.h"
#include "processmem.h"

#define MOST_AT_ONCE   ((size_t)1 << 30)
#define MOST_POPULATED ((size_t)64 << 20)
#define LEAST_MAPPED   ((size_t)64 << 10)
#define PAGE_BYTES     4096
#define WORD_BYTES     8
#define CAREFUL_PART   ((size_t)64 << 10) /* read at once where one hangs */
#define CALLS_IN_LIMIT 4 /* that hang, in the time for all of them */
#define SEEN_PART      2 /* of the memory limit, for what several regions share */

static bool make_room(struct ow_stackcopy *s, size_t room)
{
	struct ow_region *more;

	if (room <= s->room)
		return true;
	more = realloc(s->regions, room * sizeof(*more));
	if (!more)
		return false;
	s->regions = more;
	s->room = room;
	return true;
}

/* Its pages are there already if they are not too many. */
static void *map_chunk(size_t size)
{
	int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
	void *chunk;

	if (size <= MOST_POPULATED)
		flags |= MAP_POPULATE;
	chunk = mmap(NULL, size, PROT_READ | PROT_WRITE, flags, -1, 0);
	return chunk == MAP_FAILED ? NULL : chunk;
}

/* To fault a few pages takes less than to map them, and to unmap them. */
static void *allocate_chunk(size_t size)
{
	volatile uint8_t *chunk = malloc(size);
	size_t i;

	for (i = 0; chunk && i < size; i += PAGE_BYTES)
		chunk[i] = 0;
	if (chunk)
		chunk[size - 1] = 0;
	return (void *)chunk;
}

/* A new chunk, in front of the others. */
static bool add_chunk(struct ow_stackcopy *s, size_t size)
{
	size_t whole = sizeof(struct ow_copy_chunk) + size;
	struct ow_copy_chunk *chunk = NULL;

	if (!ow_budget_take(&s->held, size))
		return false;
	chunk = size < LEAST_MAPPED ? allocate_chunk(whole) : map_chunk(whole);
	if (!chunk) {
		ow_budget_give(&s->held, size);
		return false;
	}
	*chunk = (struct ow_copy_chunk){ .next = s->chunks, .size = size };
	s->chunks = chunk;
	return true;
}

bool ow_stackcopy_reserve(struct ow_stackcopy *s, size_t nr, size_t bytes)
{
	size_t room = s->nr + nr, share = ow_budget_share(s->held);

	if (!make_room(s, room) || !add_chunk(s, bytes < share ? bytes : share))
		return false;
	memset(s->regions + s->nr, 0, nr * sizeof(*s->regions));
	return true;
}

ssize_t ow_stackcopy_add(struct ow_stackcopy *s, uint64_t start, uint64_t end)
{
	if (s->nr == s->room && !make_room(s, s->room ? 2 * s->room : 64))
		return -1;
	s->regions[s->nr] =
		(struct ow_region){ .start = start, .size = end - start };
	return (ssize_t)s->nr++;
}

/* Read on where the process itself may not read; return how many bytes more. */
static size_t read_hidden(const struct ow_region *r, size_t got,
			  struct ow_processmem *mem)
{
	if (!r->is_hidden || got == r->size)
		return 0;
	return ow_processmem_read_hidden(
		mem, r->start + got, (uint8_t *)r->bytes + got, r->size - got);
}

/* Copy nr regions by one call; return how many are settled. */
static size_t copy_some(struct ow_region *r, size_t nr,
			struct ow_processmem *mem)
{
	struct iovec local[IOV_MAX], remote[IOV_MAX];
	size_t i;

	for (i = 0; i < nr; i++) {
		local[i] = (struct iovec){ (void *)r[i].bytes, r[i].size };
		remote[i] = (struct iovec){ (void *)(uintptr_t)r[i].start,
					    r[i].size };
	}
	nr = ow_processmem_readv(mem, local, remote, nr);
	for (i = 0; i < nr; i++)
		r[i].size = local[i].iov_len +
			    read_hidden(&r[i], local[i].iov_len, mem);
	return nr;
}

/* So many of them can one call copy; the kernel's limit is 2 GiB. */
static size_t batch_of(const struct ow_region *r, size_t nr)
{
	size_t n = 0, total = 0;

	while (n < IOV_MAX && n < nr) {
		total += r[n].size;
		if (n > 0 && total > MOST_AT_ONCE)
			break;
		n++;
	}
	return n;
}

/* Copy a region by parts of most bytes; *got says how far, also meanwhile. */
static void copy_parts(const struct ow_region *r, struct ow_processmem *mem,
		       size_t most, volatile size_t *got)
{
	size_t part, n;

	do {
		part = r->size - *got < most ? r->size - *got : most;
		n = ow_processmem_read(mem, r->start + *got,
				       (uint8_t *)r->bytes + *got, part);
		*got += n;
	} while (n == part && *got < r->size);
	*got += read_hidden(r, *got, mem);
}

static size_t copy_huge(struct ow_region *r, struct ow_processmem *mem)
{
	volatile size_t got = 0;

	copy_parts(r, mem, MOST_AT_ONCE, &got);
	r->size = got;
	return 1;
}

static size_t total_of(const struct ow_region *r, size_t nr)
{
	size_t total = 0, i;

	for (i = 0; i < nr; i++)
		total += r[i].size;
	return total;
}

static void drop_largest(struct ow_region *r, size_t nr)
{
	size_t i, largest = 0;

	for (i = 0; i < nr; i++)
		if (r[i].size > r[largest].size)
			largest = i;
	r[largest].size = 0;
}

/* Room for all regions, or all but those that are too big.  False: for none. */
static bool place(struct ow_stackcopy *s, struct ow_region *r, size_t nr)
{
	size_t size, i;

	for (;; drop_largest(r, nr)) {
		size = total_of(r, nr);
		if (size == 0)
			return false;
		if (s->chunks && s->chunks->size - s->chunks->used >= size)
			break;
		if (add_chunk(s, size))
			break;
	}
	for (i = 0; i < nr; i++) {
		r[i].bytes = s->chunks->bytes + s->chunks->used;
		s->chunks->used += r[i].size;
	}
	return true;
}

/* Regions to copy, and how far a delegate has come. */
struct errand {
	struct ow_region *r;
	size_t nr;
	struct ow_processmem mem;
	bool by_parts;        /* so that what hangs is a part of one region */
	volatile size_t done; /* regions */
	volatile size_t got;  /* bytes of the next one, if by_parts */
};

static void copy_by_parts(struct errand *e)
{
	for (; e->done < e->nr; e->done++) {
		e->got = 0;
		copy_parts(&e->r[e->done], &e->mem, CAREFUL_PART, &e->got);
		e->r[e->done].size = e->got;
	}
}

/* Begin no call after that time of CLOCK_MONOTONIC. */
static void copy_at_once(struct errand *e, struct ow_processmem *mem,
			 uint64_t until)
{
	struct ow_region *r;

	while (e->done < e->nr && (e->done == 0 || ow_now_ns() < until)) {
		r = &e->r[e->done];
		e->done +=
			r->size > MOST_AT_ONCE ?
				copy_huge(r, mem) :
				copy_some(r, batch_of(r, e->nr - e->done), mem);
	}
}

/*
 * By process_vm_readv(2), whatever the user has chosen: a read by the file keeps the
 * process from mapping anything while it waits, and only a tracer can read by ptrace.
 */
static void run_errand(void *errand)
{
	struct errand *e = errand;

	e->mem.fd = -1; /* a delegate has none of our files */
	e->mem.how = OW_READING_VM;
	if (e->by_parts)
		copy_by_parts(e);
	else
		copy_at_once(e, &e->mem, UINT64_MAX);
}

static void note_unserved(struct ow_unserved *u, uint64_t start, uint64_t end)
{
	if (u->nr == OW_MOST_UNSERVED) {
		u->nr--;
		if (start > u->list[u->nr].start)
			start = u->list[u->nr].start;
		if (end < u->list[u->nr].end)
			end = u->list[u->nr].end;
	}
	u->list[u->nr].start = start;
	u->list[u->nr].end = end;
	u->nr++;
}

/* The bytes that the next run may copy: something is left for those after it. */
static size_t most_bytes(const struct ow_stackcopy *s)
{
	size_t share = ow_budget_share(s->held);

	return share - share / 4;
}

/* The most that each region may have for all to have less than most bytes. */
static size_t even_size(const struct ow_region *r, size_t nr, size_t most)
{
	size_t low = 0, high = most, half, total, i;

	while (low < high) {
		half = high - (high - low) / 2;
		for (total = i = 0; i < nr && total <= most; i++)
			total += r[i].size < half ? r[i].size : half;
		if (total <= most)
			low = half;
		else
			high = half - 1;
	}
	return low - low % (low < PAGE_BYTES ? WORD_BYTES : PAGE_BYTES);
}

/* Cut what is large, to most bytes in all: the innermost frames are first. */
static void fit(struct ow_stackcopy *s, struct ow_region *r, size_t nr,
		size_t most)
{
	size_t size, i;

	if (total_of(r, nr) <= most)
		return;
	size = even_size(r, nr, most);
	for (i = 0; i < nr; i++) {
		if (r[i].size <= size)
			continue;
		note_unserved(&s->over, r[i].start + size,
			      r[i].start + r[i].size);
		r[i].size = size;
	}
}

/* What is left of a region isn't read. */
static void leave_region(struct ow_stackcopy *s, struct ow_region *r,
			 size_t got)
{
	if (r->size > got)
		note_unserved(&s->unserved, r->start + got, r->start + r->size);
	r->size = got;
}

/* What was not served before isn't asked for again. */
static void cut_unserved(const struct ow_unserved *u, struct ow_region *r)
{
	size_t i;

	for (i = 0; i < u->nr; i++)
		if (u->list[i].start < r->start + r->size &&
		    u->list[i].end > r->start)
			r->size = u->list[i].start > r->start ?
					  u->list[i].start - r->start :
					  0;
}

/*
 * Where no process can be started: a delegate that reads has somebody to end it, so it
 * may try, if no read has waited too long so far.
 */
static void copy_undelegated(struct ow_stackcopy *s, struct errand *e)
{
	if (ow_delegate_is_one() && !s->has_hung)
		copy_at_once(e, &e->mem, UINT64_MAX);
	else
		s->unserved.start_errno = errno;
}

/*
 * As a read may wait for what is stopped, let a delegate read.  The first one that
 * waits too long had all regions to copy in few calls; those after it show which
 * region can't be read, and go on with the next one.
 */
static void copy_carefully(struct ow_stackcopy *s, struct errand *e)
{
	struct ow_delegate_limits limits = {
		.call_ns = s->limit_ns / CALLS_IN_LIMIT,
	};
	enum ow_delegation end;
	size_t i;

	for (i = 0; i < e->nr; i++)
		cut_unserved(&s->unserved, &e->r[i]);
	if (!s->until_ns)
		s->until_ns = ow_now_ns() + s->limit_ns;
	limits.until_ns = s->until_ns;
	e->by_parts = e->nr == 1;
	while (e->done < e->nr && s->unserved.nr < OW_MOST_UNSERVED &&
	       ow_now_ns() < s->until_ns && !ow_delegate_must_end()) {
		end = ow_delegate_run(run_errand, e, &limits, NULL);
		s->is_lost |= end == OW_DELEGATION_LOST;
		if (end == OW_DELEGATION_NONE)
			copy_undelegated(s, e);
		if (end == OW_DELEGATION_DONE || end == OW_DELEGATION_NONE)
			break;
		s->has_hung = true;
		if (e->by_parts)
			leave_region(s, &e->r[e->done++], e->got);
		e->by_parts = true;
		e->got = 0;
	}
	for (; e->done < e->nr; e->done++)
		leave_region(s, &e->r[e->done], 0);
}

/* Reads of plain memory that take long, as a whole, are careful from then on. */
static void copy_quickly(struct ow_stackcopy *s, struct errand *e,
			 struct ow_processmem *mem)
{
	uint64_t most = s->limit_ns ? s->limit_ns / CALLS_IN_LIMIT :
				      UINT64_MAX / 2;

	copy_at_once(e, mem, ow_now_ns() + most);
	if (e->done < e->nr)
		copy_carefully(s, e);
}

/* Each region by itself; return the bytes copied. */
static size_t copy_each(struct ow_stackcopy *s, struct ow_region *r, size_t nr,
			struct ow_processmem *mem)
{
	struct errand e = { .r = r, .nr = nr, .mem = *mem };

	if (!place(s, r, nr))
		return 0;
	if (s->is_careful)
		copy_carefully(s, &e);
	else
		copy_quickly(s, &e, mem);
	return total_of(r, nr);
}

static uint64_t end_of(const struct ow_region *r)
{
	return r->start + r->size;
}

/* Threads' stacks lie one below or above another, as a rule. */
static bool are_apart(const struct ow_region *r, size_t nr)
{
	bool up = true, down = true;
	size_t i;

	for (i = 1; i < nr; i++) {
		up = up && end_of(&r[i - 1]) <= r[i].start;
		down = down && end_of(&r[i]) <= r[i - 1].start;
	}
	return up || down;
}

static int order(const void *a, const void *b)
{
	const struct ow_region *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

/* What the regions come to together, in order; to be freed.  NULL: no memory. */
static struct ow_region *unite(const struct ow_region *r, size_t nr,
			       size_t *nr_ret)
{
	struct ow_region *spans = malloc(nr * sizeof(*spans)), *last = spans;
	size_t i;

	if (!spans)
		return NULL;
	memcpy(spans, r, nr * sizeof(*spans));
	qsort(spans, nr, sizeof(*spans), order);
	for (i = 1; i < nr; i++) {
		if (spans[i].start >= end_of(last))
			*++last = spans[i];
		else if (end_of(&spans[i]) > end_of(last))
			last->size = end_of(&spans[i]) - last->start;
		last->is_hidden |= spans[i].is_hidden;
	}
	*nr_ret = (size_t)(last - spans) + 1;
	return spans;
}

/* The last span that begins at or below an address, where the first one does. */
static const struct ow_region *span_at(const struct ow_region *spans, size_t nr,
				       uint64_t addr)
{
	size_t low = 0, half;

	for (; nr > 1; nr -= half) {
		half = nr / 2;
		if (spans[low + half].start <= addr)
			low += half;
	}
	return &spans[low];
}

/*
 * What several regions have once only: where the base of a stack isn't known, as
 * of Go's, much more is copied than it has, and of threads' nearly the same.
 * Return the bytes copied; 0 where not all of it can be had so.
 */
static size_t copy_together(struct ow_stackcopy *s, struct ow_region *r,
			    size_t nr, struct ow_processmem *mem)
{
	size_t nr_spans, want, got = 0, i;
	struct ow_region *spans = unite(r, nr, &nr_spans);
	const struct ow_region *span;

	if (!spans)
		return 0;
	want = total_of(spans, nr_spans);
	if (want <= most_bytes(s) && copy_each(s, spans, nr_spans, mem) == want)
		got = want;
	for (i = 0; got && i < nr; i++) {
		span = span_at(spans, nr_spans, r[i].start);
		r[i].bytes = span->bytes + (r[i].start - span->start);
	}
	free(spans);
	return got;
}

/*
 * The bytes that all regions may have, each counted for itself: what several share is
 * copied once, but looked through for each, for pointers.
 */
static size_t most_seen(void)
{
	uint64_t limit = ow_get_memory_limit();

	return limit < SIZE_MAX / SEEN_PART ? limit * SEEN_PART : SIZE_MAX;
}

size_t ow_stackcopy_run(struct ow_stackcopy *s, struct ow_processmem *mem)
{
	struct ow_region *r = s->regions + s->done;
	size_t nr = s->nr - s->done, got = 0;

	s->done = s->nr;
	if (!are_apart(r, nr)) {
		fit(s, r, nr, most_seen());
		got = copy_together(s, r, nr, mem);
	}
	if (got)
		return got;
	fit(s, r, nr, most_bytes(s));
	return copy_each(s, r, nr, mem);
}

void ow_stackcopy_free(struct ow_stackcopy *s)
{
	struct ow_copy_chunk *chunk;

	if (s->is_lost)
		return;

	while ((chunk = s->chunks)) {
		s->chunks = chunk->next;
		ow_budget_give(&s->held, chunk->size);
		if (chunk->size < LEAST_MAPPED)
			free(chunk);
		else
			munmap(chunk, sizeof(*chunk) + chunk->size);
	}
}
