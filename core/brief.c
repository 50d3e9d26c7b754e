// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#include "brief.h"

bool ow_brief_make(struct ow_brief *b, const struct ow_arch *arch,
		   const struct ow_row *row)
{
	unsigned int shift = __builtin_ctz(arch->word);
	/* Of a caller that isn't, nothing is recovered. */
	uint8_t nr = row->flags & OW_ROW_OUTERMOST ? 0 : row->nr;
	const struct ow_rule *rule = row->rules, *end = rule + nr;
	struct ow_briefing m;

	if (row->cfa.kind != OW_RULE_REG)
		return false;
	m = ow_brief_begin(b, row->cfa.reg, row->cfa.off, row->ra, row->how,
			   row->flags & (OW_ROW_SIGNAL | OW_ROW_OUTERMOST));
	for (; rule < end; rule++) {
		if (rule->kind != OW_RULE_AT_CFA ||
		    rule->off & (arch->word - 1))
			return false;
		ow_brief_save(&m, rule->slot, -(uint32_t)rule->off >> shift);
	}
	return ow_brief_end(&m, arch);
}

void ow_brief_row(const struct ow_brief *b, const struct ow_arch *arch,
		  struct ow_row *row, struct ow_rule *rules)
{
	unsigned int i;

	for (i = 0; i < b->nr; i++)
		rules[i] =
			(struct ow_rule){ b->saves[i].slot, OW_RULE_AT_CFA, 0,
					  (b->saves[i].up - OW_BRIEF_LOWEST) *
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
