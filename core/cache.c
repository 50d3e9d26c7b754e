// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#include "cache.h"

#include "arch.h"

/* Four saves that go nowhere, of a word that is always there. */
#define NOWHERE1               \
	{                      \
		OW_MAX_REGS, 0 \
	}
#define NOWHERE NOWHERE1, NOWHERE1, NOWHERE1, NOWHERE1

/* Words that a rule's save is below the CFA, or 0 if it is no such rule. */
static unsigned int words_below(const struct ow_arch *arch,
				const struct ow_rule *rule)
{
	uint32_t bytes = -(uint32_t)rule->off;
	uint32_t words = bytes >> __builtin_ctz(arch->word);

	if (rule->kind != OW_RULE_AT_CFA || bytes & (arch->word - 1u) ||
	    words < 1 || words >= OW_BRIEF_NO_SAVE || rule->slot == arch->sp)
		return 0;
	return words;
}

static bool put_saves(struct ow_brief *b, const struct ow_arch *arch,
		      const struct ow_row *row)
{
	unsigned int i, words;

	if (row->nr > OW_BRIEF_SAVES)
		return false;
	b->depth = 1;
	for (i = 0; i < row->nr; i++) {
		words = words_below(arch, &row->rules[i]);
		if (words == 0)
			return false;
		b->saves[i].slot = row->rules[i].slot;
		b->saves[i].words = (uint8_t)words;
		b->saved |= (uint64_t)1 << row->rules[i].slot;
		if (words > b->depth)
			b->depth = (uint8_t)words;
	}
	b->nr = row->nr;
	/* From the lowest one up. */
	for (i = 0; i < b->nr; i++) {
		b->saves[i].words = b->depth - b->saves[i].words;
		if (b->saves[i].slot == b->ra)
			b->ra_words = b->saves[i].words;
	}
	return true;
}

void ow_cache_put(struct ow_cache *cache, const struct ow_arch *arch,
		  uint64_t addr, uint32_t generation, const struct ow_row *row)
{
	struct ow_brief *pair = ow_cache_pair(cache, addr);
	struct ow_brief b = {
		.saves = { NOWHERE, NOWHERE, NOWHERE, NOWHERE },
		.addr = addr,
		.generation = generation,
		.cfa_off = row->cfa.off,
		.cfa_reg = row->cfa.reg,
		.ra = row->ra,
		.ra_words = OW_BRIEF_NO_SAVE,
		.how = row->how,
		.flags = row->flags & (OW_ROW_SIGNAL | OW_ROW_OUTERMOST),
	};
	struct ow_row none = { .nr = 0 };

	/* Of a caller that isn't, nothing is recovered.  An sp that is said to
	   hold the return address would change under a step in brief. */
	if (row->cfa.kind != OW_RULE_REG || row->ra == arch->sp ||
	    !put_saves(&b, arch, b.flags & OW_ROW_OUTERMOST ? &none : row))
		return;
	pair[1] = pair[0];
	pair[0] = b;
	cache->puts++;
}

void ow_brief_row(const struct ow_brief *b, const struct ow_arch *arch,
		  struct ow_row *row, struct ow_rule *rules)
{
	unsigned int i;

	for (i = 0; i < b->nr; i++)
		rules[i] = (struct ow_rule){ b->saves[i].slot, OW_RULE_AT_CFA,
					     0,
					     (b->saves[i].words - b->depth) *
						     arch->word };
	*row = (struct ow_row){
		.cfa = { 0, OW_RULE_REG, b->cfa_reg, b->cfa_off },
		.nr = b->nr,
		.flags = b->flags,
		.ra = b->ra,
		.how = b->how,
		.rules = rules,
	};
}
