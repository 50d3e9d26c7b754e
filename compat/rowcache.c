// SPDX-License-Identifier: BSD-2-Clause
#include "rowcache.h"

#include "arch.h"

#define WORDS (sizeof(struct ow_saved_row) / 8)

/* The first of the two places of an address. */
static struct ow_saved_row *pair_of(const struct ow_rowcache *c, uint64_t addr)
{
	return &c->entries[addr * 0x9e3779b97f4a7c15ULL >> 40 & c->mask & ~1u];
}

static uint64_t addr_of(const struct ow_saved_row *e)
{
	return __atomic_load_n(&e->addr, __ATOMIC_RELAXED);
}

static uint32_t seq_of(const struct ow_saved_row *e)
{
	return __atomic_load_n(&e->seq, __ATOMIC_RELAXED);
}

bool ow_rowcache_get(const struct ow_rowcache *c, uint64_t addr,
		     struct ow_saved_row *ret)
{
	const struct ow_saved_row *e = pair_of(c, addr);
	const uint64_t *from;
	uint64_t *to = (uint64_t *)ret;
	uint32_t seq;
	size_t i;

	e += addr_of(e) != addr;
	from = (const uint64_t *)e;
	seq = __atomic_load_n(&e->seq, __ATOMIC_ACQUIRE);
	/* What is not in use yet has address 0, where no code is. */
	if (addr == 0 || seq & 1 || addr_of(e) != addr)
		return false;
	for (i = 0; i < WORDS; i++)
		to[i] = __atomic_load_n(&from[i], __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return seq_of(e) == seq && ret->addr == addr;
}

/* Its own place, or one that is free, or each of the two in turn. */
static struct ow_saved_row *place_for(const struct ow_rowcache *c,
				      uint64_t addr)
{
	struct ow_saved_row *e = pair_of(c, addr);
	uint64_t first = addr_of(&e[0]), second = addr_of(&e[1]);

	if (first == addr || second == addr)
		return &e[second == addr];
	if (first == 0 || second == 0)
		return &e[first != 0];
	return &e[(seq_of(&e[0]) + seq_of(&e[1])) / 2 % 2];
}

void ow_rowcache_put(struct ow_rowcache *c, const struct ow_saved_row *row)
{
	struct ow_saved_row *e = place_for(c, row->addr);
	const uint64_t *from = (const uint64_t *)row;
	uint64_t *to = (uint64_t *)e;
	uint32_t seq = seq_of(e);
	size_t i;

	if (seq & 1 ||
	    !__atomic_compare_exchange_n(&e->seq, &seq, seq + 1, false,
					 __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		return;
	__atomic_thread_fence(__ATOMIC_RELEASE);
	__atomic_store_n(&e->cfa_off, row->cfa_off, __ATOMIC_RELAXED);
	for (i = 1; i < WORDS; i++)
		__atomic_store_n(&to[i], from[i], __ATOMIC_RELAXED);
	__atomic_store_n(&e->seq, seq + 2, __ATOMIC_RELEASE);
}

/* Words that a rule's save is below the CFA, or 0 if it is no such rule. */
static unsigned int words_below(const struct ow_arch *arch,
				const struct ow_rule *rule)
{
	int32_t words = -(rule->off / arch->word);

	if (rule->kind != OW_RULE_AT_CFA || rule->off % arch->word ||
	    words < 1 || words > UINT8_MAX || rule->slot == arch->sp)
		return 0;
	return (unsigned int)words;
}

bool ow_saved_row_make(struct ow_saved_row *s, const struct ow_arch *arch,
		       const struct ow_row *row)
{
	unsigned int i, words;

	*s = (struct ow_saved_row){ .how = row->how };
	if (row->flags & OW_ROW_OUTERMOST) {
		s->flags = OW_SAVED_OUTERMOST;
		return true;
	}
	if (row->cfa.kind != OW_RULE_REG || row->nr > OW_SAVED_MAX ||
	    row->flags || row->ra != arch->ra)
		return false;
	s->cfa_off = row->cfa.off;
	s->cfa_reg = row->cfa.reg;
	s->nr = row->nr;
	for (i = 0; i < row->nr; i++) {
		words = words_below(arch, &row->rules[i]);
		if (words == 0)
			return false;
		s->saves[i].slot = row->rules[i].slot;
		s->saves[i].words = (uint8_t)words;
		if (row->rules[i].slot == row->ra)
			s->ra_words = (uint8_t)words;
		if (words > s->depth)
			s->depth = (uint8_t)words;
	}
	return true;
}
