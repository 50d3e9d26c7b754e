// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#include "cache.h"

#include "arch.h"

/* Four saves that go nowhere, of a word that is always there. */
#define NOWHERE1               \
	{                      \
		OW_MAX_REGS, 0 \
	}
#define NOWHERE NOWHERE1, NOWHERE1, NOWHERE1, NOWHERE1

/* Words that a rule's save is below the CFA, if it is such a rule. */
static unsigned int words_below(const struct ow_arch *arch,
				const struct ow_rule *rule)
{
	return -(uint32_t)rule->off >> __builtin_ctz(arch->word);
}

/*
 * Words from the lowest save to the CFA; 0 if not all rules are saves at whole
 * words below it.  All are looked at, as hardly ever one is found wanting.
 */
static unsigned int find_depth(const struct ow_arch *arch,
			       const struct ow_rule *rules, unsigned int nr)
{
	unsigned int depth = 1, bad = nr > OW_BRIEF_SAVES, i, words;

	for (i = 0; i < nr; i++) {
		words = words_below(arch, &rules[i]);
		bad |= rules[i].kind != OW_RULE_AT_CFA;
		bad |= rules[i].off & (arch->word - 1);
		bad |= words - 1 >= OW_BRIEF_NO_SAVE - 1;
		bad |= rules[i].slot == arch->sp;
		depth = words > depth ? words : depth;
	}
	return bad ? 0 : depth;
}

static void put_saves(struct ow_brief *b, const struct ow_arch *arch,
		      const struct ow_rule *rules)
{
	uint64_t saved = 0;
	unsigned int i;
	uint8_t up;

	for (i = 0; i < b->nr; i++) {
		up = (uint8_t)(b->depth - words_below(arch, &rules[i]));
		b->saves[i].slot = rules[i].slot;
		b->saves[i].words = up;
		saved |= (uint64_t)1 << rules[i].slot;
		if (rules[i].slot == b->ra)
			b->ra_words = up;
	}
	b->saved = saved;
}

bool ow_cache_put(struct ow_cache *cache, const struct ow_arch *arch,
		  uint64_t addr, uint32_t generation, const struct ow_row *row)
{
	struct ow_brief *b = ow_cache_pair(cache, addr);
	/* Of a caller that isn't, nothing is recovered. */
	uint8_t nr = row->flags & OW_ROW_OUTERMOST ? 0 : row->nr;
	unsigned int depth = find_depth(arch, row->rules, nr);

	/* An sp that is said to hold the return address would change under a
	   step in brief. */
	if (row->cfa.kind != OW_RULE_REG || row->ra == arch->sp || depth == 0)
		return false;
	/* Made where it will be: a copy would wait for the bytes written. */
	b[1] = b[0];
	*b = (struct ow_brief){
		.addr = addr,
		.generation = generation,
		.cfa_off = row->cfa.off,
		.cfa_reg = row->cfa.reg,
		.ra = row->ra,
		.ra_words = OW_BRIEF_NO_SAVE,
		.how = row->how,
		.flags = row->flags & (OW_ROW_SIGNAL | OW_ROW_OUTERMOST),
		.nr = nr,
		.depth = (uint8_t)depth,
		.saves = { NOWHERE, NOWHERE, NOWHERE, NOWHERE },
	};
	put_saves(b, arch, row->rules);
	cache->puts++;
	return true;
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
