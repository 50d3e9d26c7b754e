// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* What the codes of a compact table's rows stand for (uapi/ow_table.h). */
#include "err.h"
#include "table.h"

/* A set, and where its saves lie; false if it isn't there as a whole. */
OW_TEMPLATE bool find_set(const struct ow_table *t, uint32_t i,
			  struct ow_table_set *ret, const uint8_t **saves_ret)
{
	if (i >= t->nr_sets)
		return false;
	*ret = t->sets[ow_index(i, t->nr_sets)];
	*saves_ret = t->saves + ow_index(ret->saves, t->saves_size + 1);
	return (uint32_t)ret->saves + 2 * OW_TABLE_SET_NR(ret->head) <=
		       t->saves_size &&
	       ret->reg < t->arch->nr_regs;
}

/* The rule that a code means: as ow_table_row() returns. */
OW_TEMPLATE int find_rule(const struct ow_table *t, uint32_t code,
			  uint32_t *ret)
{
	if (code == OW_TABLE_NONE)
		return -OW_ENOENT;
	if (code == OW_TABLE_ESCAPE)
		return -OW_EUNSUPPORTED;
	if (code < OW_TABLE_FIRST || !ow_table_is_code(t, code))
		return -OW_EFORMAT;
	*ret = ow_table_meaning(t, code);
	return OW_TABLE_CODE_IS_SEQ(*ret) ? -OW_EFORMAT : 0;
}

/* The row of a set, but for the CFA's offset; unchanged if it isn't sound. */
OW_TEMPLATE int set_row(const struct ow_table *t, uint32_t i,
			struct ow_row *row, struct ow_rule *rules)
{
	int32_t word = t->arch->word;
	struct ow_table_set set;
	const uint8_t *at, *end;
	uint8_t nr = 0;

	if (!find_set(t, i, &set, &at))
		return -OW_EFORMAT;
	if (set.head & OW_TABLE_SET_RA)
		rules[nr++] =
			(struct ow_rule){ t->ra, OW_RULE_AT_CFA, 0, -word };
	for (end = at + 2 * OW_TABLE_SET_NR(set.head); at < end; at += 2) {
		if (at[0] >= t->arch->nr_regs)
			return -OW_EFORMAT;
		rules[nr++] =
			(struct ow_rule){ ow_index(at[0], t->arch->nr_regs),
					  OW_RULE_AT_CFA, 0,
					  (int8_t)at[1] * word };
	}
	*row = (struct ow_row){
		.cfa = { 0, OW_RULE_REG, ow_index(set.reg, t->arch->nr_regs),
			 0 },
		.nr = nr,
		.flags = (set.head & OW_TABLE_SET_SIGNAL ? OW_ROW_SIGNAL : 0) |
			 (set.head & OW_TABLE_SET_OUTERMOST ? OW_ROW_OUTERMOST :
							      0),
		.ra = t->ra,
		.how = OW_HOW_TABLE,
		.rules = rules,
	};
	return 0;
}

int ow_table_rule(const struct ow_table *t, uint32_t code, struct ow_row *row,
		  struct ow_rule *rules)
{
	const struct ow_arch *arch = t->arch;
	uint32_t rule;
	int err;

	if (code == OW_TABLE_SIGNAL) {
		ow_arch_sigframe_row(arch, arch->sigframes, row);
		return 0;
	}
	err = find_rule(t, code, &rule);
	if (!err)
		err = set_row(t, OW_TABLE_CODE_SET(rule), row, rules);
	if (!err)
		row->cfa.off =
			(int32_t)OW_TABLE_CODE_WORDS(rule) * t->arch->word;
	return err;
}

bool ow_table_brief(const struct ow_table *t, uint32_t code, struct ow_brief *b)
{
	uint8_t nr_regs = t->arch->nr_regs;
	struct ow_table_set set;
	const uint8_t *at, *end;
	struct ow_briefing m;
	uint32_t rule;

	/* Who has no caller has saves, too, which nobody needs: that is rare. */
	if (find_rule(t, code, &rule) ||
	    !find_set(t, OW_TABLE_CODE_SET(rule), &set, &at) ||
	    set.head & OW_TABLE_SET_OUTERMOST)
		return false;
	m = ow_brief_begin(b, ow_index(set.reg, OW_MAX_REGS),
			   (int32_t)OW_TABLE_CODE_WORDS(rule) * t->arch->word,
			   t->ra, OW_HOW_TABLE,
			   set.head & OW_TABLE_SET_SIGNAL ? OW_ROW_SIGNAL : 0);
	if (set.head & OW_TABLE_SET_RA)
		ow_brief_save(&m, t->ra, 1);
	for (end = at + 2 * OW_TABLE_SET_NR(set.head); at < end; at += 2) {
		if (at[0] >= nr_regs)
			return false;
		ow_brief_save(&m, ow_index(at[0], OW_MAX_REGS),
			      -(uint32_t)(int8_t)at[1]);
	}
	return ow_brief_end(&m, t->arch);
}

uint32_t ow_table_nr_rules(const struct ow_table *t)
{
	uint32_t i, nr = 0;

	for (i = 0; i < t->nr_codes; i++)
		nr += !ow_table_is_seq(t, OW_TABLE_FIRST + i);
	return nr;
}

int ow_table_verify_rules(const struct ow_table *t)
{
	struct ow_rule rules[OW_TABLE_MAX_SAVES + 1];
	struct ow_row row;
	uint32_t i, code;

	for (i = 0; i < t->nr_sets; i++)
		if (set_row(t, i, &row, rules))
			return -OW_EFORMAT;
	for (i = 0; i < t->nr_codes; i++) {
		code = OW_TABLE_FIRST + i;
		if (!ow_table_is_seq(t, code) &&
		    ow_table_rule(t, code, &row, rules))
			return -OW_EFORMAT;
	}
	return 0;
}
