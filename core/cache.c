// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#include "cache.h"

#include "arch.h"

/* Four saves that go nowhere, of a word that is always there. */
#define NOWHERE1               \
	{                      \
		OW_MAX_REGS, 1 \
	}
#define NOWHERE NOWHERE1, NOWHERE1, NOWHERE1, NOWHERE1

/*
 * Put nr rules in brief; false if not all are saves at whole words below the
 * CFA.  All are looked at, as hardly ever one is found wanting.
 */
static bool put_saves(struct ow_brief *b, const struct ow_arch *arch,
		      const struct ow_rule *rule, uint8_t nr)
{
	unsigned int shift = __builtin_ctz(arch->word);
	uint8_t ra = b->ra, ra_words = OW_BRIEF_NO_SAVE, odd = 0, i;
	uint32_t words, offs = 0, above = 0; /* words above the lowest one */
	uint64_t saved = 0;

	for (i = 0; i < nr; i++, rule++) {
		words = -(uint32_t)rule->off >> shift;
		above = words - 1 > above ? words - 1 : above;
		ra_words = rule->slot == ra ? (uint8_t)words : ra_words;
		offs |= rule->off;
		odd |= rule->kind ^ OW_RULE_AT_CFA;
		saved |= (uint64_t)1 << rule->slot;
		b->saves[i].slot = rule->slot;
		b->saves[i].words = (uint8_t)words;
	}
	b->saved = saved;
	b->ra_words = ra_words;
	b->nr = nr;
	b->depth = (uint8_t)(above + 1);
	return !odd && !(offs & (arch->word - 1)) && above < OW_BRIEF_DEPTH &&
	       !(saved >> arch->sp & 1);
}

bool ow_cache_put(struct ow_cache *cache, const struct ow_arch *arch,
		  uint64_t addr, uint32_t generation, const struct ow_row *row)
{
	struct ow_brief *b = ow_cache_pair(cache, addr);
	/* Of a caller that isn't, nothing is recovered. */
	uint8_t nr = row->flags & OW_ROW_OUTERMOST ? 0 : row->nr;

	/* An sp that is said to hold the return address would change under a
	   step in brief. */
	if (row->cfa.kind != OW_RULE_REG || row->ra == arch->sp ||
	    nr > OW_BRIEF_SAVES)
		return false;
	/* Made where it will be: a copy would wait for the bytes written. */
	b[1] = b[0];
	*b = (struct ow_brief){
		.addr = addr,
		.generation = generation,
		.cfa_off = row->cfa.off,
		.cfa_reg = row->cfa.reg,
		.ra = row->ra,
		.how = row->how,
		.flags = row->flags & (OW_ROW_SIGNAL | OW_ROW_OUTERMOST),
		.saves = { NOWHERE, NOWHERE, NOWHERE, NOWHERE },
	};
	if (!put_saves(b, arch, row->rules, nr)) {
		b->generation = 0;
		return false;
	}
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
					     -b->saves[i].words * arch->word };
	*row = (struct ow_row){
		.cfa = { 0, OW_RULE_REG, b->cfa_reg, b->cfa_off },
		.nr = b->nr,
		.flags = b->flags,
		.ra = b->ra,
		.how = b->how,
		.rules = rules,
	};
}
