// SPDX-License-Identifier: BSD-2-Clause
#include "flatrows.h"

#include <stdlib.h>

#include "error.h"
#include "hash.h"
#include "hugemem.h"

uint16_t ow_flatrows_rule(struct ow_flatrows *f, uint32_t rule)
{
	uint32_t slot = ow_hash_word(rule) & (OW_FLATROWS_SLOTS - 1);
	uint16_t i;

	for (;; slot = (slot + 1) & (OW_FLATROWS_SLOTS - 1)) {
		i = f->rule_hash[slot];
		if (i == 0)
			break;
		if (f->rules[i - 1] == rule)
			return OW_TABLE_FIRST + i - 1;
	}
	/* Three quarters full is full: what is rarer goes by the CFI. */
	if (f->nr_rules >= OW_FLATROWS_SLOTS / 4 * 3)
		return OW_TABLE_ESCAPE;
	f->rules[f->nr_rules++] = rule;
	f->rule_hash[slot] = (uint16_t)f->nr_rules;
	return (uint16_t)(OW_TABLE_FIRST + f->nr_rules - 1);
}

bool ow_flatrows_grow(struct ow_flatrows *f, size_t more)
{
	size_t room = f->room ? 2 * f->room : 1024;
	void *rows;

	if (room - f->nr < more)
		room = f->nr + more;
	if (!ow_owner_take(&f->own, (room - f->room) * sizeof(*f->rows)))
		return false;
	rows = ow_hugemem_grow(f->rows, f->room * sizeof(*f->rows),
			       room * sizeof(*f->rows));
	if (!rows)
		return false;
	f->rows = rows;
	f->room = room;
	return true;
}

int ow_flatrows_skip(struct ow_flatrows *f, uint64_t to)
{
	if (f->nr == 0 || to == f->end)
		return 0;
	return ow_flatrows_add(f, f->end, OW_TABLE_NONE, true);
}

void ow_flatrows_destroy(struct ow_flatrows *f)
{
	if (!f)
		return;
	ow_hugemem_free(f->rows, f->room * sizeof(*f->rows));
	ow_owner_give(&f->own, f->own.bytes);
	free(f);
}

/* The numbers that b's rules have among a's. */
static bool translate(struct ow_flatrows *a, const struct ow_flatrows *b,
		      uint16_t *ret)
{
	uint32_t sets[OW_TABLE_MAX_SETS], i, rule;

	for (i = 0; i < b->sets.nr; i++)
		if (!ow_tablesets_add(&a->sets, &b->sets.all[i], &sets[i]))
			return false;
	ret[OW_TABLE_NONE] = OW_TABLE_NONE;
	ret[OW_TABLE_ESCAPE] = OW_TABLE_ESCAPE;
	ret[OW_TABLE_SIGNAL] = OW_TABLE_SIGNAL;
	for (i = 0; i < b->nr_rules; i++) {
		rule = b->rules[i];
		rule = OW_TABLE_RULE(sets[OW_TABLE_CODE_SET(rule)],
				     OW_TABLE_CODE_WORDS(rule));
		ret[OW_TABLE_FIRST + i] = ow_flatrows_rule(a, rule);
		if (ret[OW_TABLE_FIRST + i] == OW_TABLE_ESCAPE)
			return false;
	}
	return true;
}

bool ow_flatrows_append(struct ow_flatrows *a, const struct ow_flatrows *b)
{
	uint16_t rules[OW_TABLE_FIRST + OW_FLATROWS_SLOTS];
	const struct ow_flat_row *row;
	size_t i;

	if (a->nr == 0 || b->nr == 0 || a->ra != b->ra ||
	    !translate(a, b, rules) || ow_flatrows_skip(a, b->start) ||
	    !ow_flatrows_reserve(a, b->nr))
		return false;
	for (i = 0; i < b->nr; i++) {
		row = &b->rows[i];
		ow_flatrows_add(a, a->base + row->off, rules[row->rule],
				row->entry);
	}
	a->end = b->end;
	a->cfi_rows += b->cfi_rows;
	a->escapes += b->escapes;
	return true;
}
