// SPDX-License-Identifier: BSD-2-Clause
#include "readelfrow.h"

#include <stdio.h>
#include <string.h>

static uint8_t slot_of_vector(const struct ow_arch *arch, const char *number)
{
	uint8_t i;

	for (i = 0; i < arch->nr_regs; i++)
		if (arch->names[i][0] == 'd' &&
		    strcmp(arch->names[i] + 1, number) == 0)
			return i;
	return OW_SLOT_NONE;
}

/* readelf calls the return address's column "ra". */
static uint8_t slot_named(const struct ow_arch *arch, const char *name)
{
	uint8_t i;

	if (strcmp(name, "ra") == 0)
		return arch->ra;
	/* aarch64: of v8-v15 the halves d8-d15 are what a callee saves. */
	if (name[0] == 'v')
		return slot_of_vector(arch, name + 1);
	for (i = 0; i < arch->nr_regs; i++)
		if (strcmp(arch->names[i], name) == 0)
			return i;
	return OW_SLOT_NONE;
}

static const struct ow_rule *rule_for(const struct ow_row *row, uint8_t slot)
{
	unsigned int i;

	for (i = 0; i < row->nr; i++)
		if (row->rules[i].slot == slot)
			return &row->rules[i];
	return NULL;
}

static void rule_text(const struct ow_arch *arch, const struct ow_row *row,
		      uint8_t slot, char *buf, size_t size)
{
	const struct ow_rule *r = rule_for(row, slot);

	if (!r && arch->callee_saved >> slot & 1) {
		/* "s" and "u" are one to us where the ABI preserves it. */
		snprintf(buf, size, "u");
		return;
	}
	switch (r ? r->kind : OW_RULE_NONE) {
	case OW_RULE_AT_CFA: snprintf(buf, size, "c%+d", r->off); break;
	case OW_RULE_IS_CFA: snprintf(buf, size, "v%+d", r->off); break;
	case OW_RULE_SAME: snprintf(buf, size, "s"); break;
	case OW_RULE_AT_EXPR: snprintf(buf, size, "exp"); break;
	case OW_RULE_IS_EXPR: snprintf(buf, size, "vexp"); break;
	/* A general register's slot is its DWARF number on all of ours. */
	case OW_RULE_REG: snprintf(buf, size, "r%d", r->reg); break;
	default: snprintf(buf, size, "u");
	}
}

static void cfa_text(const struct ow_arch *arch, const struct ow_row *row,
		     char *buf, size_t size)
{
	if (row->cfa.kind == OW_RULE_REG)
		snprintf(buf, size, "%s%+d", arch->names[row->cfa.reg],
			 row->cfa.off);
	else
		snprintf(buf, size, "exp");
}

static bool same_value(const char *theirs, const char *ours, bool kept)
{
	if (strcmp(theirs, ours) == 0)
		return true;
	/* What the ABI preserves anyway need not be said. */
	return kept && strcmp(theirs, "s") == 0 && strcmp(ours, "u") == 0;
}

/* The next value; "r5 (rdi)" is one, and the name in it is left out. */
static char *next_value(char *text, char **save)
{
	char *v = strtok_r(text, " \n", save);

	while (v && *v == '(')
		v = strtok_r(NULL, " \n", save);
	return v;
}

bool readelfrow_is(const struct ow_arch *arch, const char *columns,
		   const char *text, const struct ow_row *row, char *why,
		   size_t size)
{
	char cols[1024], vals[2048], ours[64];
	char *c, *v, *cs, *vs;
	uint64_t seen = 0;
	unsigned int i;
	uint8_t slot;

	snprintf(cols, sizeof(cols), "%s", columns);
	snprintf(vals, sizeof(vals), "%s", text);
	c = strtok_r(cols, " \n", &cs);
	v = next_value(vals, &vs);
	for (; c && v;
	     c = strtok_r(NULL, " \n", &cs), v = next_value(NULL, &vs)) {
		if (strcmp(c, "CFA") == 0) {
			cfa_text(arch, row, ours, sizeof(ours));
			slot = OW_SLOT_NONE;
		} else {
			slot = slot_named(arch, c);
			if (slot == OW_SLOT_NONE)
				continue;
			seen |= (uint64_t)1 << slot;
			rule_text(arch, row, slot, ours, sizeof(ours));
		}
		if (!same_value(v, ours,
				slot != OW_SLOT_NONE &&
					arch->callee_saved >> slot & 1)) {
			snprintf(why, size, "%s: readelf %s, outwind %s", c, v,
				 ours);
			return false;
		}
	}
	for (i = 0; i < row->nr; i++) {
		if (seen >> row->rules[i].slot & 1)
			continue;
		snprintf(why, size, "%s: only outwind has it",
			 arch->names[row->rules[i].slot]);
		return false;
	}
	return true;
}
