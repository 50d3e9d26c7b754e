/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A fixed-size cache from pc to row, for stacks that look alike.
 *
 * It holds rows in brief: CFA = register + offset, and registers saved at whole
 * words below it.  Nearly all rows of compilers are so; others aren't cached.
 */
#ifndef OW_CACHE_H
#define OW_CACHE_H

#include "row.h"

struct ow_arch;

#define OW_BRIEF_SAVES 16 /* so that an entry fills a cache line */
#define OW_BRIEF_FEW   8  /* enough for x86-64, where 7 can be saved */

#define OW_BRIEF_NO_SAVE 0 /* words below the CFA, where there is none */
#define OW_BRIEF_DEPTH   255

struct ow_brief {
	uint64_t addr;
	uint64_t saved;      /* bit n: slot n is among the saves */
	uint32_t generation; /* of the map; 0: the entry is empty */
	int32_t cfa_off;
	uint8_t cfa_reg;
	uint8_t ra;
	uint8_t ra_words; /* as a save's, or OW_BRIEF_NO_SAVE */
	uint8_t how;
	uint8_t flags; /* enum ow_row_flags, but OW_ROW_LAST */
	uint8_t nr;    /* saves in use; behind them stand ones for nothing, so
			  that the step may always execute OW_BRIEF_FEW */
	uint8_t depth; /* words from the lowest save to the CFA, at least 1 */
	uint8_t unused;

	struct {
		uint8_t slot;
		uint8_t words; /* below the CFA, 1 to OW_BRIEF_DEPTH */
	} saves[OW_BRIEF_SAVES];
};

/*
 * The caller owns the entries, all zero at first: 2 * (mask + 1) of them, as
 * each addr has two places to be in.
 */
struct ow_cache {
	struct ow_brief *entries;
	uint32_t mask; /* a power of two, minus one */
	uint32_t puts; /* how often a row was put, for who would make it grow */
};

/* The two places of an addr. */
static inline struct ow_brief *ow_cache_pair(const struct ow_cache *cache,
					     uint64_t addr)
{
	uint64_t hash = addr * 0x9e3779b97f4a7c15ULL;

	return &cache->entries[2 * ((hash >> 40) & cache->mask)];
}

/* What is known of addr under that generation, or NULL. */
static inline const struct ow_brief *
ow_cache_get(const struct ow_cache *cache, uint64_t addr, uint32_t generation)
{
	const struct ow_brief *b = ow_cache_pair(cache, addr);

	if (b->addr == addr && b->generation == generation)
		return b;
	b++;
	return b->addr == addr && b->generation == generation ? b : NULL;
}

/*
 * Remember the row, if it can be put in brief, in place of the older of the two
 * that share its places.  Could it?
 */
bool ow_cache_put(struct ow_cache *cache, const struct ow_arch *arch,
		  uint64_t addr, uint32_t generation, const struct ow_row *row);

/* The row again; rules holds OW_BRIEF_SAVES. */
void ow_brief_row(const struct ow_brief *b, const struct ow_arch *arch,
		  struct ow_row *row, struct ow_rule *rules);

_Static_assert(sizeof(struct ow_brief) == 64, "one entry, one cache line");

#endif /* OW_CACHE_H */
