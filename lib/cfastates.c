// SPDX-License-Identifier: BSD-2-Clause
#include "cfastates.h"

#include "hash.h"

static bool same_rule(const struct ow_rule *a, const struct ow_rule *b)
{
	return a->slot == b->slot && a->kind == b->kind && a->reg == b->reg &&
	       a->off == b->off;
}

static bool same(const struct ow_cfa_state *a, const struct ow_cfa_state *b)
{
	uint64_t left = a->said;
	int i;

	if (a->said != b->said || a->cfa_off != b->cfa_off ||
	    !same_rule(&a->cfa, &b->cfa))
		return false;
	for (; left; left &= left - 1) {
		i = __builtin_ctzll(left);
		if (!same_rule(&a->reg[i], &b->reg[i]))
			return false;
	}
	return true;
}

static uint32_t hash(uint8_t family, const struct ow_cfa_state *st)
{
	uint64_t words[2 + OW_MAX_REGS], left = st->said;
	const struct ow_rule *rule;
	size_t nr = 0;

	words[nr++] = st->said;
	words[nr++] = (uint64_t)(uint32_t)st->cfa_off << 32 |
		      (uint64_t)st->cfa.reg << 8 | family;
	for (; left; left &= left - 1) {
		rule = &st->reg[__builtin_ctzll(left)];
		words[nr++] = (uint64_t)(uint32_t)rule->off << 8 | rule->kind;
	}
	return (uint32_t)ow_hash(words, nr * sizeof(*words));
}

/* The number of a state, which is added if it is new; 0 if there is no room. */
static uint16_t intern(struct ow_cfastates *s, uint8_t family,
		       const struct ow_cfa_state *known)
{
	const uint32_t mask = OW_ARRAY_SIZE(s->hash) - 1;
	uint32_t at = hash(family, known) & mask;
	struct ow_cfastates_state *state;

	for (; s->hash[at]; at = (at + 1) & mask) {
		state = &s->all[s->hash[at] - 1];
		if (state->family == family && same(&state->known, known))
			return s->hash[at];
	}
	if (s->nr == OW_CFASTATES_MOST)
		return 0;
	state = &s->all[s->nr++];
	state->family = family;
	ow_cfa_copy_state(&state->known, known);
	s->hash[at] = (uint16_t)s->nr;
	return s->hash[at];
}

static bool is_of(const struct ow_cfastates *s,
		  const struct ow_cfastates_family *f, const struct ow_cfa *cfa)
{
	return f->code_align == cfa->cie->code_align &&
	       f->data_align == cfa->cie->data_align && f->ra == cfa->cie->ra &&
	       f->signal_frame == cfa->cie->signal_frame &&
	       same(&s->all[f->first - 1].known, &cfa->initial);
}

uint16_t ow_cfastates_begin(struct ow_cfastates *s, const struct ow_cfa *cfa)
{
	unsigned int i;
	uint16_t first;

	for (i = 0; i < s->nr_families; i++)
		if (is_of(s, &s->families[i], cfa))
			return s->families[i].first;
	if (i == OW_CFASTATES_FAMILIES)
		return 0;
	first = intern(s, (uint8_t)i, &cfa->initial);
	if (first == 0)
		return 0;
	s->families[s->nr_families++] = (struct ow_cfastates_family){
		.code_align = cfa->cie->code_align,
		.data_align = cfa->cie->data_align,
		.ra = cfa->cie->ra,
		.signal_frame = cfa->cie->signal_frame,
		.first = first,
	};
	return first;
}

void ow_cfastates_get(const struct ow_cfastates *s, uint16_t state,
		      struct ow_cfa *cfa)
{
	ow_cfa_copy_state(&cfa->state, &s->all[state - 1].known);
}

/* Have the machine run the instruction. */
static uint16_t make(struct ow_cfastates *s, uint16_t from, uint32_t insn,
		     unsigned int size, struct ow_cfa *cfa)
{
	const uint8_t bytes[] = { (uint8_t)insn, (uint8_t)(insn >> 8),
				  (uint8_t)(insn >> 16) };
	struct ow_cursor c = { bytes, bytes + size, false };

	/* A byte of code: an FDE that this is all of. */
	ow_cfa_begin_again(cfa, cfa->cie, c, 0, 1);
	ow_cfastates_get(s, from, cfa);
	if (ow_cfa_next(cfa) != 1)
		return 0;
	return intern(s, s->all[from - 1].family, &cfa->state);
}

uint16_t ow_cfastates_find(struct ow_cfastates *s, uint16_t from, uint32_t insn,
			   unsigned int size, struct ow_cfa *cfa)
{
	uint64_t key = (uint64_t)from << 24 | insn;
	uint64_t *step = &s->steps[(key * 0x9e3779b97f4a7c15ULL >> 32) %
				   OW_CFASTATES_STEPS];
	uint16_t to;

	to = *step >> 16 == key ? (uint16_t)*step :
				  make(s, from, insn, size, cfa);
	if (to == 0)
		return 0;
	*step = key << 16 | to;
	/* One more, so that none is 0. */
	*ow_cfastates_near(s, from, insn) = (insn + 1ULL) << 16 | to;
	return to;
}
