// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Input: the architecture, code and data alignment, the FDE's encoding, the
 * size of the CIE's instructions; then those, and the FDE's.
 */
#include "cfa.h"
#include "fuzz.h"

#define START    0x1000
#define END      0x1200
#define MAX_ROWS (END - START)

struct result {
	uint64_t start, next;
	struct ow_row row;
	struct ow_rule rules[OW_MAX_REGS];
};

static struct result rows[MAX_ROWS];
static struct ow_cfa cfa;

static bool same_rule(const struct ow_rule *a, const struct ow_rule *b)
{
	return a->slot == b->slot && a->kind == b->kind && a->reg == b->reg &&
	       a->off == b->off;
}

static void check_same(const struct result *a, const struct result *b)
{
	unsigned int i;

	ASSERT(a->start == b->start && a->next == b->next);
	ASSERT(a->row.nr == b->row.nr && a->row.flags == b->row.flags);
	ASSERT(same_rule(&a->row.cfa, &b->row.cfa));
	for (i = 0; i < a->row.nr; i++)
		ASSERT(same_rule(&a->rules[i], &b->rules[i]));
}

static void check_rule(const struct ow_cie *cie, const struct ow_rule *rule)
{
	if (rule->kind == OW_RULE_REG || rule->kind == OW_RULE_AT_REG)
		ASSERT(rule->reg < cie->arch->nr_regs);
	if (rule->kind == OW_RULE_AT_EXPR || rule->kind == OW_RULE_IS_EXPR)
		ASSERT((uint32_t)rule->off < cie->section_size);
}

/* In brief is what the row is in brief. */
static void check_brief(const struct ow_cie *cie, const struct ow_row *row)
{
	struct ow_brief direct, made;

	if (!ow_cfa_brief(&cfa, row->how, &direct))
		return;
	ASSERT(ow_brief_make(&made, cie->arch, row));
	ASSERT(memcmp(&direct, &made, sizeof(made)) == 0);
}

static void take_row(const struct ow_cie *cie, struct result *r)
{
	unsigned int i;

	ow_cfa_row(&cfa, &r->row, r->rules);
	check_brief(cie, &r->row);
	r->start = cfa.start;
	r->next = cfa.next;
	ASSERT(r->start < r->next && r->next <= END);
	ASSERT(r->row.nr <= cie->arch->nr_regs);
	ASSERT(r->row.cfa.kind == OW_RULE_NONE ||
	       r->row.cfa.kind == OW_RULE_REG ||
	       r->row.cfa.kind == OW_RULE_IS_EXPR);
	check_rule(cie, &r->row.cfa);
	for (i = 0; i < r->row.nr; i++) {
		check_rule(cie, &r->rules[i]);
		ASSERT(r->rules[i].kind > OW_RULE_NONE &&
		       r->rules[i].kind <= OW_RULE_IS_EXPR);
		ASSERT(r->rules[i].slot < cie->arch->nr_regs);
		ASSERT(i == 0 || r->rules[i - 1].slot < r->rules[i].slot);
	}
}

/* All rows, by a machine whose memory held fill before. */
static int run_all(const struct ow_cie *cie, struct ow_cursor insns, int fill,
		   struct result *results, size_t *nr_ret)
{
	int err;

	memset(&cfa, fill, sizeof(cfa));
	*nr_ret = 0;
	err = ow_cfa_begin(&cfa, cie, insns, START, END);
	if (err)
		return err;
	while ((err = ow_cfa_next(&cfa)) == 1)
		take_row(cie, &results[(*nr_ret)++]);
	return err;
}

static void check_seek(const struct ow_cie *cie, struct ow_cursor insns,
		       const struct result *want, uint64_t vaddr)
{
	struct result got;

	ASSERT(ow_cfa_begin(&cfa, cie, insns, START, END) == 0);
	ASSERT(ow_cfa_seek(&cfa, vaddr) == 0);
	take_row(cie, &got);
	check_same(&got, want);
}

static void check(const struct ow_cie *cie, struct ow_cursor insns)
{
	static struct result again[MAX_ROWS];
	size_t nr, nr_again, i;
	int err = run_all(cie, insns, 0, rows, &nr);

	ASSERT(err == 0 || err == -OW_EFORMAT || err == -OW_EUNSUPPORTED);
	/* Nothing may depend on what the machine was used for before. */
	ASSERT(run_all(cie, insns, 0x11, again, &nr_again) == err);
	ASSERT(nr == nr_again);
	for (i = 0; i < nr; i++) {
		check_same(&rows[i], &again[i]);
		ASSERT(rows[i].start == (i ? rows[i - 1].next : START));
	}
	ASSERT(err || rows[nr - 1].next == END);
	for (i = 0; i < nr && i < 8; i++) {
		check_seek(cie, insns, &rows[i], rows[i].start);
		check_seek(cie, insns, &rows[i], rows[i].next - 1);
	}
	if (ow_cfa_begin(&cfa, cie, insns, START, END) == 0)
		ASSERT(ow_cfa_seek(&cfa, END) < 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *all = data;
	size_t all_size = size;
	const struct ow_arch *arch = fuzz_arch(fuzz_take(&data, &size, 1));
	struct ow_cie cie = {
		.arch = arch,
		.code_align = fuzz_take(&data, &size, 1),
		.data_align = (int8_t)fuzz_take(&data, &size, 1),
		.ra = arch->ra,
		.fde_enc = fuzz_take(&data, &size, 1),
		.section = all,
		.section_size = all_size,
		.section_vaddr = START - 0x100,
	};
	size_t cie_size = fuzz_take(&data, &size, 1);

	if (cie_size > size)
		cie_size = size;
	cie.insns = data;
	cie.insns_end = data + cie_size;
	check(&cie, (struct ow_cursor){ data + cie_size, data + size, false });
	return 0;
}
