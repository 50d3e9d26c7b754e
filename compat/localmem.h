/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * This process's own memory, read without ever faulting, locking or allocating.
 *
 * A page is asked for once with a system call, and then known as readable.  That
 * may be out of date once it is unmapped; whoever reads below goes by stacks and
 * rules that are in use, and asks here lest these be damaged.
 */
#ifndef OW_LOCALMEM_H
#define OW_LOCALMEM_H

#include "memory.h"

#define OW_LOCAL_PAGE 4096 /* the least there is; a larger one has several */

/* Readable addresses, [start, end). */
struct ow_extent {
	uint64_t start, end;
};

/*
 * What is known to be readable around addr, at least the page of addr itself;
 * empty if that can't be read.
 */
struct ow_extent ow_local_extent(uint64_t addr);

/*
 * Make e reach up to end at least, page by page, by OW_LOCAL_STRETCH bytes at
 * most.  False if there is an unreadable page between.
 */
#define OW_LOCAL_STRETCH (1 << 20)
bool ow_local_stretch(struct ow_extent *e, uint64_t end);

bool ow_local_readable(uint64_t addr, uint64_t size);

/*
 * Ask anew for the page of addr: for what no rule says to be in use, as what was
 * interrupted may have gone to where something was.
 */
void ow_local_recheck(uint64_t addr);

/* A stack goes on at sp: ask anew where that isn't just above "below". */
static inline void ow_local_enter(uint64_t sp, uint64_t below)
{
	if (sp - below >= 16 * OW_LOCAL_PAGE)
		ow_local_recheck(sp);
}

/* Reads what can be read, for the engine. */
extern const struct ow_memory ow_local_memory;

static inline uint64_t ow_local_word(uint64_t addr)
{
	return *(const uint64_t *)(uintptr_t)addr;
}

#endif /* OW_LOCALMEM_H */
