// SPDX-License-Identifier: BSD-2-Clause
/*
 * Input: a byte, the processor; four registers of eight bytes each, as it has
 * them; eight bytes, an address to ask for; eight bytes, a way on from there;
 * then what is in a guest's memory: every page has the same, but that each
 * begins elsewhere in it, and that one of 16 isn't there.
 */
#include <string.h>

#include "fuzz.h"
#include "paging.h"

#define PAGE       4096u
#define MOST_READS 5 /* a table of each level */

struct memory {
	struct ow_physmem mem; /* first: cast back */
	uint8_t bytes[2 * PAGE];
	unsigned int reads;
};

static const uint8_t *at(const struct ow_physmem *mem, uint64_t addr,
			 size_t size)
{
	struct memory *m = (struct memory *)mem;
	uint64_t page = addr / PAGE;

	ASSERT(size <= 8 && addr % PAGE + size <= PAGE);
	ASSERT(++m->reads <= MOST_READS);
	return page % 16 == 15 ? NULL :
				 m->bytes + page * 64 % PAGE + addr % PAGE;
}

static struct ow_paging make(const uint8_t **data, size_t *size)
{
	unsigned int kind = (unsigned int)fuzz_take(data, size, 1) % 3;
	uint64_t regs[4];
	size_t i;

	for (i = 0; i < 4; i++)
		regs[i] = fuzz_take(data, size, 8);
	if (kind == 0)
		return ow_paging_x86(regs[0], regs[1], regs[2], regs[3]);
	if (kind == 1)
		return ow_paging_aarch64(regs[0], regs[1], regs[2], regs[3]);
	return ow_paging_arm(regs[0], regs[1], regs[2], regs[3]);
}

static enum ow_paging_result find(const struct ow_paging *p, struct memory *m,
				  uint64_t addr, uint64_t *ret, uint64_t *run)
{
	m->reads = 0;
	return ow_paging_find(p, &m->mem, addr, ret, run);
}

/*
 * What is in a row is one after the other, however it is asked for.  The short
 * format repeats the entries of its larger pages, which this memory need not.
 */
static void check_run(const struct ow_paging *p, struct memory *m,
		      uint64_t addr, uint64_t way)
{
	uint64_t first, run, there = 0, rest = 0;

	if (find(p, m, addr, &first, &run))
		return;
	ASSERT(run > 0 && first + (run - 1) >= first);
	if (p->format == OW_PAGING_ARM_SHORT && run > PAGE - addr % PAGE)
		run = PAGE - addr % PAGE;
	way %= run;
	ASSERT(find(p, m, addr + way, &there, &rest) == OW_PAGING_MAPPED);
	ASSERT(there == first + way && rest >= run - way);
	ASSERT(rest == run - way || p->format == OW_PAGING_ARM_SHORT);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct memory m = { .mem.at = at };
	struct ow_paging p = make(&data, &size);
	uint64_t addr = fuzz_take(&data, &size, 8);
	uint64_t way = fuzz_take(&data, &size, 8);
	size_t i;

	for (i = 0; i < sizeof(m.bytes); i++)
		m.bytes[i] = size ? data[i % PAGE % size] : 0;
	ASSERT(p.low.levels <= MOST_READS && p.high.levels <= MOST_READS);
	check_run(&p, &m, addr, way);
	return 0;
}
