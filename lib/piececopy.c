// SPDX-License-Identifier: BSD-2-Clause
#include "piececopy.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "owner.h"

#define BITS 64 /* of an element of copied */

size_t ow_piececopy_page(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

bool ow_piececopy_init(struct ow_piececopy *p, const uint8_t *from, size_t size,
		       struct ow_owner *own)
{
	size_t nr = size / ow_piececopy_page() / BITS + 1;

	*p = (struct ow_piececopy){ .from = from, .size = size, .own = own };
	if (!ow_owner_take(own, nr * sizeof(*p->copied)))
		return false;
	p->copied = calloc(nr, sizeof(*p->copied));
	return p->copied;
}

void ow_piececopy_deinit(struct ow_piececopy *p)
{
	free(p->copied);
	*p = (struct ow_piececopy){ .size = 0 };
}

bool ow_piececopy_has(const struct ow_piececopy *p, const void *at)
{
	return (uintptr_t)at - (uintptr_t)p->to < p->size;
}

/* Copy a page, if it was not yet. */
static bool copy_page(struct ow_piececopy *p, size_t i, size_t page)
{
	uint64_t *bits = &p->copied[i / BITS], bit = (uint64_t)1 << i % BITS;
	size_t off = i * page, left = p->size - off;

	if (*bits & bit)
		return true;
	if (!ow_owner_take(p->own, page))
		return false;
	memcpy(p->to + off, p->from + off, left < page ? left : page);
	*bits |= bit;
	return true;
}

bool ow_piececopy_want(struct ow_piececopy *p, const void *at, size_t size)
{
	const size_t page = ow_piececopy_page();
	size_t off = (size_t)((const uint8_t *)at - p->to), last;

	if (!ow_piececopy_has(p, at) || size == 0)
		return true;
	if (size > p->size - off)
		size = p->size - off;
	last = (off + size - 1) / page;
	for (size_t i = off / page; i <= last; i++)
		if (!copy_page(p, i, page))
			return false;
	return true;
}

bool ow_piececopy_want_text(struct ow_piececopy *p, const char *at, size_t most)
{
	const size_t page = ow_piececopy_page();
	const uint8_t *pos = (const uint8_t *)at;
	size_t n;

	/* Up to the end of a page each time. */
	for (; most > 0 && ow_piececopy_has(p, pos); pos += n, most -= n) {
		n = page - (size_t)(pos - p->to) % page;
		if (n > most)
			n = most;
		if (!ow_piececopy_want(p, pos, n))
			return false;
		if (memchr(pos, 0, n))
			return true;
	}
	return true;
}

void ow_piececopy_drop(struct ow_piececopy *p, const void *from, const void *to)
{
	const size_t page = ow_piececopy_page();
	size_t first =
		((size_t)((const uint8_t *)from - p->to) + page - 1) / page;
	size_t end = (size_t)((const uint8_t *)to - p->to) / page;
	uint64_t *bits, bit;

	if (!ow_piececopy_has(p, from) || !ow_piececopy_has(p, to) ||
	    first >= end ||
	    madvise(p->to + first * page, (end - first) * page, MADV_DONTNEED))
		return;
	for (size_t i = first; i < end; i++) {
		bits = &p->copied[i / BITS];
		bit = (uint64_t)1 << i % BITS;
		if (*bits & bit)
			ow_owner_give(p->own, page);
		*bits &= ~bit;
	}
}
