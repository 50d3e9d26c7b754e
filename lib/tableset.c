// SPDX-License-Identifier: BSD-2-Clause
#include "tableset.h"

#include <string.h>

/* The set of a row, or false if a table can't hold it. */
static bool pack(const struct ow_arch *arch, uint8_t ra,
		 const struct ow_row *row, struct ow_tableset *ret)
{
	bool outermost = row->flags & OW_ROW_OUTERMOST;
	const struct ow_rule *rule = row->rules;
	/* Nothing is recovered of a caller that isn't. */
	const struct ow_rule *end = rule + (outermost ? 0 : row->nr);
	int32_t words;
	uint8_t *at = ret->saves;

	ret->head = (row->flags & OW_ROW_SIGNAL ? OW_TABLE_SET_SIGNAL : 0) |
		    (outermost ? OW_TABLE_SET_OUTERMOST : 0);
	ret->reg = row->cfa.reg;
	if (row->nr > OW_TABLE_MAX_SAVES || row->ra != ra)
		return false;
	for (; rule < end; rule++) {
		words = rule->off / arch->word;
		if (rule->kind != OW_RULE_AT_CFA || rule->off % arch->word ||
		    words < INT8_MIN || words > INT8_MAX)
			return false;
		if (rule->slot == ra && words == -1) {
			ret->head |= OW_TABLE_SET_RA;
			continue;
		}
		*at++ = rule->slot;
		*at++ = (uint8_t)words;
		ret->head++;
	}
	return true;
}

static size_t saves_size(const struct ow_tableset *set)
{
	return 2 * (size_t)OW_TABLE_SET_NR(set->head);
}

static bool same(const struct ow_tableset *a, const struct ow_tableset *b)
{
	return a->head == b->head && a->reg == b->reg &&
	       memcmp(a->saves, b->saves, saves_size(a)) == 0;
}

bool ow_tablesets_add(struct ow_tablesets *s, const struct ow_tableset *set,
		      uint32_t *ret)
{
	uint32_t i;

	for (i = 0; i < s->nr; i++)
		if (same(set, &s->all[i]))
			break;
	if (i == OW_TABLE_MAX_SETS)
		return false;
	if (i == s->nr)
		s->all[s->nr++] = *set;
	*ret = i;
	return true;
}

bool ow_tablesets_find(struct ow_tablesets *s, const struct ow_arch *arch,
		       uint8_t ra, const struct ow_row *row, uint32_t *ret)
{
	struct ow_tableset set;

	return pack(arch, ra, row, &set) && ow_tablesets_add(s, &set, ret);
}

/* What was pushed first comes first: prologues make sets that begin alike. */
static void sort_saves(struct ow_tableset *set)
{
	size_t size = saves_size(set), i, k;
	uint8_t slot, words;

	for (i = 2; i < size; i += 2) {
		slot = set->saves[i];
		words = set->saves[i + 1];
		for (k = i; k && (int8_t)set->saves[k - 1] < (int8_t)words;
		     k -= 2)
			memcpy(set->saves + k, set->saves + k - 2, 2);
		set->saves[k] = slot;
		set->saves[k + 1] = words;
	}
}

/* Where a set's saves stand, written behind the others if they don't yet. */
static uint16_t place(const struct ow_tableset *set, uint8_t *saves,
		      uint16_t *size)
{
	size_t n = saves_size(set);
	const uint8_t *at = memmem(saves, *size, set->saves, n);

	if (at)
		return (uint16_t)(at - saves);
	memcpy(saves + *size, set->saves, n);
	*size = (uint16_t)(*size + n);
	return (uint16_t)(*size - n);
}

uint16_t ow_tablesets_write(const struct ow_tablesets *s,
			    struct ow_table_set *sets, uint8_t *saves)
{
	struct ow_tableset set;
	uint16_t size = 0;
	uint32_t i, nr;

	/* The largest first, as the others may be parts of them. */
	for (nr = OW_TABLE_MAX_SAVES + 1; nr-- > 0;) {
		for (i = 0; i < s->nr; i++) {
			set = s->all[i];
			if (OW_TABLE_SET_NR(set.head) != nr)
				continue;
			sort_saves(&set);
			sets[i] = (struct ow_table_set){
				place(&set, saves, &size), set.head, set.reg
			};
		}
	}
	return size;
}
