// SPDX-License-Identifier: BSD-2-Clause
#include "rowtext.h"

#include <stdio.h>

#include <outwind/outwind.h>

#include "arch.h"
#include "err.h"
#include "error.h"
#include "object.h"
#include "tablefile.h"
#include "tablegen.h"

static int put_rule(const struct ow_arch *arch, const struct ow_rule *rule,
		    char *buf, size_t size)
{
	const char *reg = rule->reg < arch->nr_regs ? arch->names[rule->reg] :
						      "?";

	switch (rule->kind) {
	case OW_RULE_AT_CFA: return snprintf(buf, size, "c%+d", rule->off);
	case OW_RULE_IS_CFA: return snprintf(buf, size, "v%+d", rule->off);
	case OW_RULE_REG:
		return rule->off ?
			       snprintf(buf, size, "%s%+d", reg, rule->off) :
			       snprintf(buf, size, "%s", reg);
	case OW_RULE_AT_REG:
		return snprintf(buf, size, "(%s%+d)", reg, rule->off);
	case OW_RULE_AT_EXPR: return snprintf(buf, size, "exp");
	case OW_RULE_IS_EXPR: return snprintf(buf, size, "vexp");
	case OW_RULE_UNDEFINED: return snprintf(buf, size, "u");
	case OW_RULE_SAME: return snprintf(buf, size, "s");
	default: return snprintf(buf, size, "?");
	}
}

void ow_row_text(const struct ow_arch *arch, const struct ow_row *row,
		 char *buf, size_t size)
{
	struct ow_rule cfa = row->cfa;
	size_t used, i;

	used = snprintf(buf, size, "cfa=");
	if (cfa.kind == OW_RULE_REG)
		used += snprintf(buf + used, size - used, "%s%+d",
				 arch->names[cfa.reg], cfa.off);
	else
		used += put_rule(arch, &cfa, buf + used, size - used);
	for (i = 0; i < row->nr && used + 32 < size; i++) {
		used += snprintf(buf + used, size - used,
				 " %s=", arch->names[row->rules[i].slot]);
		used += put_rule(arch, &row->rules[i], buf + used, size - used);
	}
	snprintf(buf + used, size - used, "%s%s",
		 row->flags & OW_ROW_SIGNAL ? " signal" : "",
		 row->flags & OW_ROW_OUTERMOST ? " outermost" : "");
}

/* A few bytes make a row of hundreds, and a compressed section has many. */
#define MOST ((uint64_t)1 << 30)

/* Where rows go, and how many bytes they had yet. */
struct printing {
	FILE *out;
	const struct ow_object *obj;
	uint64_t size;
};

/* Return true if there is no room for more, or nobody to read it. */
static bool is_over(const struct printing *p)
{
	return p->size >= MOST || ferror(p->out);
}

/* A row, or what there is in place of one. */
static void print_text(struct printing *p, uint64_t start, uint64_t end,
		       const char *before, const char *text)
{
	int size = fprintf(p->out, "%#llx %#llx %s%s\n",
			   (unsigned long long)start, (unsigned long long)end,
			   before, text);

	p->size += size > 0 ? (uint64_t)size : 0;
}

static void print_row(struct printing *p, uint64_t start, uint64_t end,
		      const struct ow_row *row)
{
	char text[1024];

	ow_row_text(p->obj->elf.arch, row, text, sizeof(text));
	print_text(p, start, end, "", text);
}

static void print_fde(struct printing *p, const struct ow_fde *fde,
		      struct ow_cfa *cfa)
{
	struct ow_rule rules[OW_MAX_REGS];
	struct ow_row row;
	int more =
		ow_cfa_begin(cfa, &fde->cie, fde->insns, fde->start, fde->end);

	while (!is_over(p) && more >= 0 && (more = ow_cfa_next(cfa)) > 0) {
		ow_cfa_row(cfa, &row, rules);
		print_row(p, cfa->start, cfa->next, &row);
	}
	if (more < 0)
		print_text(p, cfa->start, fde->end,
			   "refused: ", ow_err_text(more));
}

static void print_entry_refused(struct printing *p, uint64_t at, int why)
{
	int size = fprintf(p->out, "entry at %#llx refused: %s\n",
			   (unsigned long long)at, ow_err_text(why));

	p->size += size > 0 ? (uint64_t)size : 0;
}

static void print_section(struct printing *p, bool is_debug)
{
	struct ow_cfi_env env = { .bias = 0 };
	struct ow_fde fde;
	struct ow_cfa cfa;
	uint64_t off = 0, at;
	int kind;

	do {
		at = off;
		kind = ow_cfi_entry(&p->obj->cfi, &env, is_debug, &off, &fde);
		if (kind == 1)
			print_fde(p, &fde, &cfa);
		else if (kind < 0)
			print_entry_refused(p, at, kind);
	} while (kind != 0 && off > at && !is_over(p));
}

static void print_table_row(struct printing *p, const struct ow_table *t,
			    uint64_t vaddr, uint64_t end)
{
	struct ow_rule rules[OW_MAX_REGS];
	struct ow_row row;
	int failed = ow_table_row(t, vaddr, &row, rules);

	if (!failed)
		print_row(p, vaddr, end, &row);
	else
		print_text(p, vaddr, end, "",
			   failed == -OW_ENOENT ? "none" : "escape");
}

static int print_table(struct printing *p, struct ow_error *err)
{
	struct ow_table_stats stats;
	_cleanup_(ow_freep) uint8_t *bytes = NULL;
	struct ow_table t;
	struct ow_table_pos pos = { .block = 0 };
	uint64_t vaddr = 0, next;
	bool first = true;
	size_t size;

	bytes = ow_table_generate(p->obj, &size, &stats, NULL, err);
	if (!bytes)
		return -OW_CODE_ABSENT;
	if (ow_table_open(&t, bytes, size) || ow_table_verify(&t))
		return ow_fail(err, OW_CODE_FORMAT,
			       "%s: the table made is "
			       "not in order",
			       p->obj->path);
	for (; !is_over(p) && ow_table_next(&t, &pos) > 0; first = false) {
		next = t.base + pos.off;
		if (!first)
			print_table_row(p, &t, vaddr, next);
		vaddr = next;
	}
	return 0;
}

int ow_rows_print(const char *path, bool by_table, void *out,
		  struct ow_error *err)
{
	struct ow_object *obj = ow_object_open(path, err);
	struct printing p = { .out = out, .obj = obj };
	int failed;

	if (!obj)
		return -OW_CODE_FORMAT;
	failed = ow_object_load_cfi(obj, err);
	if (!failed && by_table) {
		failed = print_table(&p, err);
	} else if (!failed) {
		print_section(&p, false);
		if (!is_over(&p))
			print_section(&p, true);
	}
	if (!failed && p.size >= MOST) {
		ow_fail(err, OW_CODE_UNSUPPORTED,
			"%s: rows take more than %llu MiB of text: others are "
			"left out",
			path, (unsigned long long)(MOST >> 20));
		failed = 1;
	}
	ow_object_close(obj);
	return failed;
}
