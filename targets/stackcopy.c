// SPDX-License-Identifier: BSD-2-Clause
#include "stackcopy.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "processmem.h"

#define MOST_AT_ONCE   ((size_t)1 << 30)
#define MOST_POPULATED ((size_t)64 << 20)
#define LEAST_MAPPED   ((size_t)64 << 10)
#define PAGE_BYTES     4096

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
	struct ow_copy_chunk *chunk =
		size < LEAST_MAPPED ? allocate_chunk(whole) : map_chunk(whole);

	if (!chunk)
		return false;
	*chunk = (struct ow_copy_chunk){ .next = s->chunks, .size = size };
	s->chunks = chunk;
	return true;
}

bool ow_stackcopy_reserve(struct ow_stackcopy *s, size_t nr, size_t bytes)
{
	size_t room = s->nr + nr;

	if (!make_room(s, room) || !add_chunk(s, bytes))
		return false;
	memset(s->regions + s->nr, 0, nr * sizeof(*s->regions));
	return true;
}

ssize_t ow_stackcopy_add(struct ow_stackcopy *s, uint64_t start, uint64_t end)
{
	if (s->nr == s->room && !make_room(s, s->room ? 2 * s->room : 64))
		return -1;
	s->regions[s->nr] = (struct ow_region){ start, end - start, NULL };
	return (ssize_t)s->nr++;
}

/* Copy regions [first, first + nr) by one call; return how many are settled. */
static size_t copy_some(struct ow_stackcopy *s, struct ow_processmem *mem,
			size_t first, size_t nr)
{
	struct iovec local[IOV_MAX], remote[IOV_MAX];
	struct ow_region *r = s->regions + first;
	size_t i;

	for (i = 0; i < nr; i++) {
		local[i] = (struct iovec){ (void *)r[i].bytes, r[i].size };
		remote[i] = (struct iovec){ (void *)(uintptr_t)r[i].start,
					    r[i].size };
	}
	nr = ow_processmem_readv(mem, local, remote, nr);
	for (i = 0; i < nr; i++)
		r[i].size = local[i].iov_len;
	return nr;
}

/* Regions from i on that one call can copy; the kernel's limit is 2 GiB. */
static size_t batch_from(const struct ow_stackcopy *s, size_t i)
{
	size_t nr = 0, total = 0;

	while (nr < IOV_MAX && i + nr < s->nr) {
		total += s->regions[i + nr].size;
		if (nr > 0 && total > MOST_AT_ONCE)
			break;
		nr++;
	}
	return nr;
}

static size_t copy_huge(struct ow_stackcopy *s, struct ow_processmem *mem,
			size_t i)
{
	struct ow_region *r = &s->regions[i];
	size_t got = 0, part, n;

	do {
		part = r->size - got < MOST_AT_ONCE ? r->size - got :
						      MOST_AT_ONCE;
		n = ow_processmem_read(mem, r->start + got,
				       (uint8_t *)r->bytes + got, part);
		got += n;
	} while (n == part && got < r->size);
	r->size = got;
	return 1;
}

static void drop_largest(struct ow_stackcopy *s)
{
	size_t i, largest = s->done;

	for (i = s->done; i < s->nr; i++)
		if (s->regions[i].size > s->regions[largest].size)
			largest = i;
	s->regions[largest].size = 0;
}

/*
 * Room for all regions that have none, or for all but those that are too big.
 * False: for none of them.
 */
static bool place(struct ow_stackcopy *s)
{
	size_t size, i;

	for (;; drop_largest(s)) {
		for (size = 0, i = s->done; i < s->nr; i++)
			size += s->regions[i].size;
		if (size == 0)
			return false;
		if (s->chunks && s->chunks->size - s->chunks->used >= size)
			break;
		if (add_chunk(s, size))
			break;
	}
	for (i = s->done; i < s->nr; i++) {
		s->regions[i].bytes = s->chunks->bytes + s->chunks->used;
		s->chunks->used += s->regions[i].size;
	}
	return true;
}

size_t ow_stackcopy_run(struct ow_stackcopy *s, struct ow_processmem *mem)
{
	size_t i, first = s->done, total = 0;

	if (!place(s)) {
		s->done = s->nr;
		return 0;
	}
	for (i = first; i < s->nr;)
		i += s->regions[i].size > MOST_AT_ONCE ?
			     copy_huge(s, mem, i) :
			     copy_some(s, mem, i, batch_from(s, i));
	for (i = first; i < s->nr; i++)
		total += s->regions[i].size;
	s->done = s->nr;
	return total;
}

void ow_stackcopy_free(struct ow_stackcopy *s)
{
	struct ow_copy_chunk *chunk;

	while ((chunk = s->chunks)) {
		s->chunks = chunk->next;
		if (chunk->size < LEAST_MAPPED)
			free(chunk);
		else
			munmap(chunk, sizeof(*chunk) + chunk->size);
	}
}
