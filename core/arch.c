// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#include "arch.h"

static const struct ow_arch *const arches[] = {
	&ow_arch_x86_64,
	&ow_arch_i386,
	&ow_arch_aarch64,
};

const struct ow_arch *ow_arch_find(uint16_t machine, bool is_64)
{
	size_t i;

	for (i = 0; i < OW_ARRAY_SIZE(arches); i++)
		if (arches[i]->machine == machine &&
		    (arches[i]->word == 8) == is_64)
			return arches[i];
	return NULL;
}

void ow_arch_fp_row(const struct ow_arch *a, struct ow_row *row,
		    struct ow_rule *rules)
{
	int32_t w = a->word;

	rules[0] = (struct ow_rule){ a->ra, OW_RULE_AT_CFA, 0, -w };
	rules[1] = (struct ow_rule){ a->fp, OW_RULE_AT_CFA, 0, -2 * w };
	*row = (struct ow_row){
		.cfa = { 0, OW_RULE_REG, a->fp, 2 * w - a->fp_above },
		.nr = 2,
		.ra = a->ra,
		.how = OW_HOW_FP,
		.rules = rules,
	};
}

void ow_arch_call_row(const struct ow_arch *a, struct ow_row *row,
		      struct ow_rule *rules)
{
	bool pushed = a->ra == a->pc;
	int32_t w = a->word;

	rules[0] = (struct ow_rule){ a->ra, OW_RULE_AT_CFA, 0, -w };
	*row = (struct ow_row){
		.cfa = { 0, OW_RULE_REG, a->sp, pushed ? w : 0 },
		.nr = pushed,
		.ra = a->ra,
		.how = OW_HOW_CALL,
		.rules = rules,
	};
}

void ow_arch_sigframe_row(const struct ow_arch *a, const struct ow_sigframe *sf,
			  struct ow_row *row)
{
	*row = (struct ow_row){
		.cfa = { 0, OW_RULE_AT_REG, a->sp, sf->sp_off },
		.nr = sf->nr,
		.flags = OW_ROW_SIGNAL,
		.ra = a->pc,
		.how = OW_HOW_SIGNAL,
		.rules = sf->rules,
	};
}

bool ow_arch_signal_row(const struct ow_arch *a, const uint8_t *code,
			size_t size, struct ow_row *row)
{
	const struct ow_sigframe *sf;
	size_t i;

	for (i = 0; i < a->nr_sigframes; i++) {
		sf = &a->sigframes[i];
		if (size < sf->code_size ||
		    memcmp(code, sf->code, sf->code_size) != 0)
			continue;
		ow_arch_sigframe_row(a, sf, row);
		return true;
	}
	return false;
}
