// SPDX-License-Identifier: BSD-2-Clause
#include "hugemem.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define HUGE_PAGE ((size_t)2 << 20)
#define LARGE     ((size_t)512 << 10) /* less is malloc()'s */

static size_t whole_pages(size_t size)
{
	return (size + HUGE_PAGE - 1) & ~(HUGE_PAGE - 1);
}

void *ow_hugemem_alloc(size_t size)
{
	void *p;

	if (size < LARGE)
		return malloc(size);
	if (size > SIZE_MAX - HUGE_PAGE)
		return NULL;
	/* Linux aligns what has that size (since 6.7), or what it can of it. */
	p = mmap(NULL, whole_pages(size), PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return NULL;
	/* Without them it is memory, too. */
	madvise(p, whole_pages(size), MADV_HUGEPAGE);
	return p;
}

void *ow_hugemem_grow(void *p, size_t size, size_t more)
{
	void *to;

	if (more < LARGE)
		return realloc(p, more);
	if (size >= LARGE && more <= whole_pages(size))
		return p;
	to = ow_hugemem_alloc(more);
	if (!to)
		return NULL;
	if (size)
		memcpy(to, p, size);
	ow_hugemem_free(p, size);
	return to;
}

void ow_hugemem_free(void *p, size_t size)
{
	if (size < LARGE)
		free(p);
	else if (p)
		munmap(p, whole_pages(size));
}
