// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* The row that call frame instructions have made, packed. */
#include "cfa.h"

/* Does the row have to speak of it, or is it what the step does anyway? */
static bool worth_saying(const struct ow_arch *arch, const struct ow_rule *rule,
			 uint8_t slot)
{
	bool kept = arch->callee_saved >> slot & 1;

	switch (rule->kind) {
	case OW_RULE_NONE: return false;
	case OW_RULE_SAME: return !kept;
	case OW_RULE_UNDEFINED: return kept;
	default: return true;
	}
}

void ow_cfa_row(const struct ow_cfa *cfa, struct ow_row *row,
		struct ow_rule *rules)
{
	const struct ow_cie *cie = cfa->cie;
	const struct ow_rule *reg = cfa->state.reg;
	uint64_t left = cfa->state.said;
	bool has_ra = left >> cie->ra & 1;
	uint8_t i, nr = 0;

	for (; left; left &= left - 1) {
		i = (uint8_t)__builtin_ctzll(left);
		if (worth_saying(cie->arch, &reg[i], i))
			rules[nr++] = reg[i];
	}
	*row = (struct ow_row){
		.cfa = cfa->state.cfa,
		.nr = nr,
		.flags = (cie->signal_frame ? OW_ROW_SIGNAL : 0) |
			 (has_ra && reg[cie->ra].kind == OW_RULE_UNDEFINED ?
				  OW_ROW_OUTERMOST :
				  0),
		.ra = cie->ra,
		.how = OW_HOW_CFI,
		.exprs = cie->section,
		.exprs_size = cie->section_size > UINT32_MAX ?
				      UINT32_MAX :
				      (uint32_t)cie->section_size,
		.rules = rules,
	};
}

bool ow_cfa_brief(const struct ow_cfa *cfa, uint8_t how, struct ow_brief *b)
{
	const struct ow_cie *cie = cfa->cie;
	unsigned int shift = __builtin_ctz(cie->arch->word);
	const struct ow_cfa_state *st = &cfa->state;
	uint64_t left = st->said;
	struct ow_briefing m;
	uint32_t offs = 0;
	uint8_t i;

	if (st->cfa.kind != OW_RULE_REG)
		return false;
	m = ow_brief_begin(b, st->cfa.reg, st->cfa.off, cie->ra, how,
			   cie->signal_frame ? OW_ROW_SIGNAL : 0);
	for (; left; left &= left - 1) {
		i = (uint8_t)__builtin_ctzll(left);
		if (st->reg[i].kind == OW_RULE_AT_CFA) {
			offs |= st->reg[i].off;
			ow_brief_save(&m, i,
				      -(uint32_t)st->reg[i].off >> shift);
		} else if (i == cie->ra ||
			   worth_saying(cie->arch, &st->reg[i], i)) {
			return false;
		}
	}
	return ow_brief_end(&m, cie->arch) && !(offs & (cie->arch->word - 1));
}
