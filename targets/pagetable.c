// SPDX-License-Identifier: BSD-2-Clause
#include "pagetable.h"

#include <string.h>

#define PAGE_SHIFT 12
#define PAGE_SIZE  ((uint64_t)1 << PAGE_SHIFT)
#define INDEX_BITS 9

const uint8_t *ow_pagetable_physical(const struct ow_pagetable *t,
				     uint64_t addr, uint64_t size)
{
	size_t low = 0, high = t->nr, mid;
	const struct ow_physical *p;

	while (low < high) {
		mid = low + (high - low) / 2;
		p = &t->memory[mid];
		if (addr - p->start < p->size)
			return size <= p->size - (addr - p->start) ?
				       p->bytes + (addr - p->start) :
				       NULL;
		if (addr < p->start)
			high = mid;
		else
			low = mid + 1;
	}
	return NULL;
}

/* The runs of a dump as paging.h asks for them. */
struct dump {
	struct ow_physmem mem; /* first: cast back in at() */
	const struct ow_pagetable *table;
};

static const uint8_t *at(const struct ow_physmem *mem, uint64_t addr,
			 size_t size)
{
	return ow_pagetable_physical(((const struct dump *)mem)->table, addr,
				     size);
}

/* The upper half alone: a program's tables are not those of the kernel. */
static struct ow_paging paging_of(const struct ow_pagetable *t)
{
	unsigned int bits = PAGE_SHIFT + t->levels * INDEX_BITS;

	return (struct ow_paging){
		.format = t->is_aarch64 ? OW_PAGING_ARM_LONG : OW_PAGING_X86_64,
		.high = { t->root, t->levels, (uint8_t)bits },
	};
}

bool ow_pagetable_read(const struct ow_pagetable *t, uint64_t addr, void *buf,
		       size_t size)
{
	const struct dump dump = { { at }, t };
	const struct ow_paging paging = paging_of(t);
	uint8_t *to = buf;
	const uint8_t *from;
	uint64_t physical, run;
	size_t part;

	while (size > 0) {
		part = PAGE_SIZE - addr % PAGE_SIZE;
		if (part > size)
			part = size;
		if (ow_paging_find(&paging, &dump.mem, addr, &physical, &run))
			return false;
		from = ow_pagetable_physical(t, physical, part);
		if (!from)
			return false;
		memcpy(to, from, part);
		to += part;
		addr += part;
		size -= part;
	}
	return true;
}
