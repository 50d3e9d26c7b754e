// SPDX-License-Identifier: BSD-2-Clause
#include "readonly.h"

#include <stdlib.h>

static int extent_order(const void *a, const void *b)
{
	const struct ow_extent *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

/* What the segment is in memory if it is writable, or has in the file if not. */
static struct ow_extent extent_of(const struct ow_elf *elf,
				  const struct ow_elf_segment *seg)
{
	struct ow_extent e = { .start = seg->vaddr };
	uint64_t size = seg->memsz;

	if (!(seg->flags & OW_PF_W)) {
		size = seg->off < elf->size ? elf->size - seg->off : 0;
		if (size > seg->filesz)
			size = seg->filesz;
		if (size)
			e.bytes = elf->bytes + seg->off;
	}
	/* Nothing is at the end of the address space. */
	e.end = size <= UINT64_MAX - e.start ? e.start + size : UINT64_MAX;
	return e;
}

/* Cut what two of them share out of one: out of the read-only one, if one is. */
static void separate(struct ow_readonly *r)
{
	struct ow_extent *last = NULL, e;
	size_t i, nr = 0;

	for (i = 0; i < r->nr; i++) {
		e = r->list[i];
		if (last && !e.bytes && e.start < last->end && last->bytes)
			last->end = e.start;
		if (last && e.start < last->end) {
			if (e.end <= last->end)
				continue;
			if (e.bytes)
				e.bytes += last->end - e.start;
			e.start = last->end;
		}
		last = &r->list[nr++];
		*last = e;
	}
	r->nr = nr;
}

int ow_readonly_make(struct ow_readonly *r, const struct ow_elf *elf)
{
	struct ow_elf_segment seg;
	struct ow_extent e;
	uint32_t i;

	r->nr = 0;
	r->list = malloc((elf->phnum + 1) * sizeof(*r->list));
	if (!r->list)
		return -1;
	for (i = 0; ow_elf_segment(elf, i, &seg); i++) {
		if (seg.type != OW_PT_LOAD)
			continue;
		e = extent_of(elf, &seg);
		if (e.end > e.start)
			r->list[r->nr++] = e;
	}
	qsort(r->list, r->nr, sizeof(*r->list), extent_order);
	separate(r);
	return 0;
}

const uint8_t *ow_readonly_at(const struct ow_readonly *r, uint64_t vaddr,
			      size_t size)
{
	size_t low = 0, high = r->nr, mid;

	while (low < high) {
		mid = low + (high - low) / 2;
		if (r->list[mid].end > vaddr)
			high = mid;
		else
			low = mid + 1;
	}
	if (low == r->nr || vaddr < r->list[low].start ||
	    r->list[low].end - vaddr < size || !r->list[low].bytes)
		return NULL;
	return r->list[low].bytes + (vaddr - r->list[low].start);
}

void ow_readonly_deinit(struct ow_readonly *r)
{
	free(r->list);
	*r = (struct ow_readonly){ 0 };
}
