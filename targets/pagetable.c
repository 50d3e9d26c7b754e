// SPDX-License-Identifier: BSD-2-Clause
#include "pagetable.h"

#include <endian.h>
#include <string.h>

#define PAGE_SHIFT 12
#define PAGE_SIZE  ((uint64_t)1 << PAGE_SHIFT)
#define INDEX_BITS 9

#define PRESENT   1 /* of both */
#define X86_LARGE 0x80
#define A64_TABLE 2
#define X86_FRAME 0x000ffffffffff000ULL
#define A64_FRAME 0x0000fffffffff000ULL

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

/* Does the entry lead to memory, and not to another table? */
static bool is_leaf(const struct ow_pagetable *t, uint64_t entry,
		    unsigned int level)
{
	if (level == 0)
		return true;
	return t->is_aarch64 ? !(entry & A64_TABLE) : entry & X86_LARGE;
}

static bool translate(const struct ow_pagetable *t, uint64_t addr,
		      uint64_t *ret)
{
	uint64_t frame = t->is_aarch64 ? A64_FRAME : X86_FRAME;
	uint64_t table = t->root, entry, within;
	unsigned int level = t->levels, shift;
	const uint8_t *at;

	while (level-- > 0) {
		shift = PAGE_SHIFT + level * INDEX_BITS;
		at = ow_pagetable_physical(t, table + (addr >> shift & 511) * 8,
					   sizeof(entry));
		if (!at)
			return false;
		memcpy(&entry, at, sizeof(entry));
		entry = le64toh(entry);
		if (!(entry & PRESENT))
			return false;
		if (is_leaf(t, entry, level)) {
			within = ((uint64_t)1 << shift) - 1;
			*ret = (entry & frame & ~within) | (addr & within);
			return true;
		}
		table = entry & frame;
	}
	return false;
}

/* Are all bits above those that the tables look at set? */
static bool is_canonical(const struct ow_pagetable *t, uint64_t addr)
{
	unsigned int bits = PAGE_SHIFT + t->levels * INDEX_BITS;
	/* x86's upper half has the top one of them set, too. */
	uint64_t high = ~(uint64_t)0 << (t->is_aarch64 ? bits : bits - 1);

	return (addr & high) == high;
}

bool ow_pagetable_read(const struct ow_pagetable *t, uint64_t addr, void *buf,
		       size_t size)
{
	uint8_t *to = buf;
	const uint8_t *from;
	uint64_t physical;
	size_t part;

	while (size > 0) {
		part = PAGE_SIZE - addr % PAGE_SIZE;
		if (part > size)
			part = size;
		if (!is_canonical(t, addr) || !translate(t, addr, &physical))
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
