// SPDX-License-Identifier: BSD-2-Clause
#include "bpfrule.h"

#include <string.h>

#include "rowexpr.h"

#define DW_OP_lit0  0x30 /* DWARF 5, table 7.9 */
#define PLT_SIZE    11
#define PLT_LITERAL 6 /* where it stands */

/*
 * DW_OP_breg7 8; breg16 0; lit15; and; lit11; ge; lit3; shl; plus: what linkers
 * say of lazily bound stubs, which are 16 bytes each; and the same of i386.
 * Which literal it is depends on the stub.
 */
static const uint8_t plt_expr[PLT_SIZE] = { 0x77, 0x08, 0x80, 0x00, 0x3f, 0x1a,
					    0x3b, 0x2a, 0x33, 0x24, 0x22 };
static const uint8_t plt_expr_i386[PLT_SIZE] = { 0x74, 0x04, 0x78, 0x00,
						 0x3f, 0x1a, 0x3b, 0x2a,
						 0x32, 0x24, 0x22 };

static bool is_plt(const struct ow_arch *arch, const struct ow_rowexpr *e)
{
	const uint8_t *expr = arch->word == 8 ? plt_expr : plt_expr_i386;
	const uint8_t *bytes = e->code;

	return e->size == PLT_SIZE && memcmp(bytes, expr, PLT_LITERAL) == 0 &&
	       bytes[PLT_LITERAL] >= DW_OP_lit0 &&
	       bytes[PLT_LITERAL] < DW_OP_lit0 + 16 &&
	       memcmp(bytes + PLT_LITERAL + 1, expr + PLT_LITERAL + 1,
		      PLT_SIZE - PLT_LITERAL - 1) == 0;
}

static bool put_cfa(const struct ow_arch *arch, const struct ow_row *row,
		    struct ow_bpf_rule *r)
{
	struct ow_plainexpr plain;
	struct ow_rowexpr e;

	if (row->cfa.kind == OW_RULE_REG || row->cfa.kind == OW_RULE_AT_REG) {
		r->kind = row->cfa.kind == OW_RULE_REG ? OW_BPF_REG :
							 OW_BPF_AT_REG;
		r->cfa_reg = row->cfa.reg;
		r->cfa_off = row->cfa.off;
		return true;
	}
	if (row->cfa.kind != OW_RULE_IS_EXPR ||
	    !ow_rowexpr_of(row, &row->cfa, &e))
		return false;
	if (is_plt(arch, &e)) {
		r->kind = OW_BPF_PLT;
		r->pushed = e.code[PLT_LITERAL] - DW_OP_lit0;
		return true;
	}
	if (!ow_rowexpr_plain(arch, &e, &plain) ||
	    plain.add != (int8_t)plain.add)
		return false;
	r->cfa_add = (int8_t)plain.add;
	r->kind = plain.deref ? OW_BPF_AT_REG : OW_BPF_REG;
	r->cfa_reg = plain.reg;
	r->cfa_off = plain.off;
	return true;
}

/* Where a rule loads its register from: a base, and bytes behind it. */
static bool place_of(const struct ow_arch *arch, const struct ow_row *row,
		     const struct ow_rule *rule, uint8_t *base, int64_t *off)
{
	struct ow_plainexpr plain;
	struct ow_rowexpr e;

	*base = OW_BPF_BASE_CFA;
	*off = rule->off;
	if (rule->kind == OW_RULE_AT_CFA)
		return true;
	*base = rule->reg;
	if (rule->kind == OW_RULE_AT_REG)
		return true;
	if (rule->kind != OW_RULE_AT_EXPR || !ow_rowexpr_of(row, rule, &e) ||
	    !ow_rowexpr_plain(arch, &e, &plain) || plain.deref)
		return false;
	*base = plain.reg;
	*off = plain.off;
	return true;
}

struct place {
	uint8_t slot, base;
	int64_t off;
};

/* All loads as words of one area. */
static bool put_area(const struct place *p, size_t nr, uint8_t word,
		     struct ow_bpf_rule *r)
{
	int64_t low = 0, high = 0;
	size_t i;

	if (nr > OW_BPF_SAVES)
		return false;
	for (i = 0; i < nr; i++) {
		if (p[i].base != p[0].base || p[i].off % word)
			return false;
		if (i == 0 || p[i].off < low)
			low = p[i].off;
		if (i == 0 || p[i].off + word > high)
			high = p[i].off + word;
	}
	if ((high - low) / word > OW_BPF_MAX_DEPTH || low != (int32_t)low)
		return false;
	r->base = nr ? p[0].base : OW_BPF_BASE_CFA;
	r->base_off = (int32_t)low;
	r->depth = (uint8_t)((high - low) / word);
	r->nr = (uint8_t)nr;
	for (i = 0; i < nr; i++) {
		r->saves[i].slot = p[i].slot;
		r->saves[i].word = (uint8_t)((p[i].off - low) / word);
	}
	return true;
}

/* The return address in a register: vfork()'s child would overwrite the stack. */
static bool take_ra_reg(const struct ow_arch *arch, const struct ow_rule *rule,
			struct ow_bpf_rule *r)
{
	if (rule->slot != arch->ra || rule->kind != OW_RULE_REG || rule->off ||
	    r->kind != OW_BPF_REG)
		return false;
	r->flags |= OW_BPF_RULE_IN_REG;
	r->ra_reg = rule->reg;
	return true;
}

/*
 * Loads from the CFA and from an area elsewhere: all but the return address lies at
 * a register where a stack was realigned, and often what the CFA is counted from
 * lies there too.
 */
static bool put_mixed(const struct place *p, size_t nr, uint8_t word,
		      struct ow_bpf_rule *r)
{
	struct place rest[OW_MAX_REGS + 1] = { 0 };
	size_t i, nr_rest = 0;

	for (i = 0; i < nr; i++)
		if (p[i].base != OW_BPF_BASE_CFA)
			rest[nr_rest++] = p[i];
	if (nr > OW_BPF_SAVES || !put_area(rest, nr_rest, word, r))
		return false;
	for (i = 0; i < nr; i++) {
		if (p[i].base != OW_BPF_BASE_CFA)
			continue;
		if (p[i].off >= 0 || p[i].off % word ||
		    p[i].off < -word * (int64_t)OW_BPF_SAVE_DEPTH)
			return false;
		r->saves[r->nr].slot = p[i].slot;
		r->saves[r->nr++].word =
			(uint8_t)(OW_BPF_SAVE_AT_CFA | -p[i].off / word);
	}
	return true;
}

bool ow_bpfrule_make(const struct ow_arch *arch, const struct ow_row *row,
		     struct ow_bpf_rule *ret)
{
	struct ow_bpf_rule r = { .how = row->how };
	struct place p[OW_MAX_REGS + 1] = { 0 };
	size_t i, nr = 0;

	r.flags = (row->flags & OW_ROW_SIGNAL ? OW_BPF_RULE_SIGNAL : 0) |
		  (row->flags & OW_ROW_OUTERMOST ? OW_BPF_RULE_OUTERMOST : 0);
	if (row->flags & OW_ROW_OUTERMOST) {
		r.kind = OW_BPF_REG;
		*ret = r;
		return true;
	}
	if (!put_cfa(arch, row, &r))
		return false;
	for (i = 0; i < row->nr; i++) {
		if (row->rules[i].kind == OW_RULE_SAME &&
		    arch->callee_saved >> row->rules[i].slot & 1)
			continue;
		if (take_ra_reg(arch, &row->rules[i], &r))
			continue;
		p[nr].slot = row->rules[i].slot;
		if (!place_of(arch, row, &row->rules[i], &p[nr].base,
			      &p[nr].off))
			return false;
		nr++;
	}
	/* Those of i386 are few enough for a rule like others. */
	if (nr > OW_BPF_SAVES && ow_row_is_sigframe(arch, row)) {
		r.kind = OW_BPF_SIGNAL;
		*ret = r;
		return true;
	}
	if (!put_area(p, nr, arch->word, &r) &&
	    !put_mixed(p, nr, arch->word, &r))
		return false;
	*ret = r;
	return true;
}
