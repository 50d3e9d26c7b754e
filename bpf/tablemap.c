// SPDX-License-Identifier: BSD-2-Clause
#include "tablemap.h"

#include <stdlib.h>
#include <string.h>

#include "bytebuf.h"
#include "error.h"
#include "escapes.h"

#define MOST_EXTRAS (1U << 16)

/* What a DWARF expression of one of these forms comes to. */
enum {
	DW_OP_deref = 0x06,
	DW_OP_lit0 = 0x30,
	DW_OP_breg0 = 0x70,
	DW_OP_breg31 = 0x8f,
};

/*
 * DW_OP_breg7 8; breg16 0; lit15; and; lit11; ge; lit3; shl; plus: what linkers
 * say of lazily bound stubs, which are 16 bytes each.  Which literal it is
 * depends on the stub.
 */
static const uint8_t plt_expr[] = { 0x77, 0x08, 0x80, 0x00, 0x3f, 0x1a,
				    0x3b, 0x2a, 0x33, 0x24, 0x22 };

#define PLT_LITERAL 6 /* where it stands */

static bool is_plt(const uint8_t *bytes, uint64_t size)
{
	return size == sizeof(plt_expr) &&
	       memcmp(bytes, plt_expr, PLT_LITERAL) == 0 &&
	       bytes[PLT_LITERAL] >= DW_OP_lit0 &&
	       bytes[PLT_LITERAL] < DW_OP_lit0 + 16 &&
	       memcmp(bytes + PLT_LITERAL + 1, plt_expr + PLT_LITERAL + 1,
		      size - PLT_LITERAL - 1) == 0;
}

/* The bytes of a row's expression, or NULL. */
static const uint8_t *expr_of(const struct ow_row *row,
			      const struct ow_rule *rule, uint64_t *size)
{
	struct ow_cursor c = { row->exprs, row->exprs + row->exprs_size,
			       false };

	if (!row->exprs)
		return NULL;
	ow_cursor_skip(&c, (uint32_t)rule->off);
	*size = ow_cursor_uleb(&c);
	return ow_cursor_skip(&c, *size);
}

/* Is it "register + offset", and behind that a deref or not? */
static bool is_simple(const struct ow_arch *arch, const uint8_t *bytes,
		      uint64_t size, uint8_t *reg, int64_t *off, bool *deref)
{
	struct ow_cursor c = { bytes, bytes + size, false };
	uint64_t op = ow_cursor_uint(&c, 1);

	if (op < DW_OP_breg0 || op > DW_OP_breg31)
		return false;
	*reg = ow_arch_slot(arch, op - DW_OP_breg0);
	*off = ow_cursor_sleb(&c);
	*deref = ow_cursor_more(&c) && ow_cursor_uint(&c, 1) == DW_OP_deref;
	return !c.bad && c.pos == c.end && *reg != OW_SLOT_NONE;
}

static bool put_cfa(const struct ow_arch *arch, const struct ow_row *row,
		    struct ow_bpf_rule *r)
{
	const uint8_t *bytes;
	uint64_t size;
	int64_t off;
	bool deref;

	if (row->cfa.kind == OW_RULE_REG || row->cfa.kind == OW_RULE_AT_REG) {
		r->kind = row->cfa.kind == OW_RULE_REG ? OW_BPF_REG :
							 OW_BPF_AT_REG;
		r->cfa_reg = row->cfa.reg;
		r->cfa_off = row->cfa.off;
		return true;
	}
	bytes = row->cfa.kind == OW_RULE_IS_EXPR ?
			expr_of(row, &row->cfa, &size) :
			NULL;
	if (!bytes)
		return false;
	if (is_plt(bytes, size)) {
		r->kind = OW_BPF_PLT;
		r->pushed = bytes[PLT_LITERAL] - DW_OP_lit0;
		return true;
	}
	if (!is_simple(arch, bytes, size, &r->cfa_reg, &off, &deref) ||
	    off != (int32_t)off)
		return false;
	r->kind = deref ? OW_BPF_AT_REG : OW_BPF_REG;
	r->cfa_off = (int32_t)off;
	return true;
}

/* Where a rule loads its register from: a base, and bytes behind it. */
static bool place_of(const struct ow_arch *arch, const struct ow_row *row,
		     const struct ow_rule *rule, uint8_t *base, int64_t *off)
{
	const uint8_t *bytes;
	uint64_t size;
	bool deref;

	*base = OW_BPF_BASE_CFA;
	*off = rule->off;
	if (rule->kind == OW_RULE_AT_CFA)
		return true;
	*base = rule->reg;
	if (rule->kind == OW_RULE_AT_REG)
		return true;
	bytes = rule->kind == OW_RULE_AT_EXPR ? expr_of(row, rule, &size) :
						NULL;
	return bytes && is_simple(arch, bytes, size, base, off, &deref) &&
	       !deref;
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

/*
 * Where a stack was realigned, all else lies at a register, but the return
 * address at the CFA.
 */
static bool take_ra(struct place *p, size_t *nr, const struct ow_arch *arch,
		    struct ow_bpf_rule *r)
{
	size_t i;

	for (i = 0; i < *nr; i++) {
		if (p[i].slot != arch->ra || p[i].base != OW_BPF_BASE_CFA ||
		    p[i].off != -(int64_t)arch->word)
			continue;
		p[i] = p[--*nr];
		r->flags |= OW_BPF_RULE_RA;
		return true;
	}
	return false;
}

/* The return address in a register: vfork()'s child would overwrite the stack. */
static bool take_ra_reg(const struct ow_arch *arch, const struct ow_rule *rule,
			struct ow_bpf_rule *r)
{
	if (rule->slot != arch->ra || rule->kind != OW_RULE_REG || rule->off)
		return false;
	r->flags |= OW_BPF_RULE_IN_REG;
	r->ra_reg = rule->reg;
	return true;
}

/*
 * The C library's own CFI of its signal trampoline: all registers at sp, in the
 * order that the kernel stores them in.
 */
static bool is_signal(const struct place *p, size_t nr,
		      const struct ow_arch *arch, const struct ow_row *row)
{
	const struct ow_sigframe *sf = arch->sigframes;
	size_t i, k, same = 0;

	if (!(row->flags & OW_ROW_SIGNAL) || nr < sf->nr)
		return false;
	for (i = 0; i < nr; i++)
		for (k = 0; k < sf->nr; k++)
			same += p[i].slot == sf->rules[k].slot &&
				p[i].base == arch->sp &&
				p[i].off == sf->rules[k].off;
	return same == sf->nr;
}

bool ow_tablemap_rule(const struct ow_arch *arch, const struct ow_row *row,
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
	if (is_signal(p, nr, arch, row)) {
		r.kind = OW_BPF_SIGNAL;
		*ret = r;
		return true;
	}
	if (!put_area(p, nr, arch->word, &r) &&
	    (!take_ra(p, &nr, arch, &r) || !put_area(p, nr, arch->word, &r)))
		return false;
	*ret = r;
	return true;
}

/* What is being laid out. */
struct making {
	const struct ow_table *t;
	struct ow_bpf_object *out;
	struct ow_bytebuf bytes;
};

/* Up to the next whole chunk; where that is. */
static uint32_t align(struct making *m)
{
	static const uint8_t zeros[OW_BPF_CHUNK];
	size_t over = m->bytes.size % OW_BPF_CHUNK;

	if (over)
		ow_bytebuf_add(&m->bytes, zeros, OW_BPF_CHUNK - over);
	return (uint32_t)m->bytes.size;
}

static uint32_t put_part(struct making *m, const void *bytes, size_t size)
{
	uint32_t at = align(m);

	ow_bytebuf_add(&m->bytes, bytes, size);
	return at;
}

/*
 * Which block each page of code begins in, so that a search begins near its end;
 * pages are about as many as blocks.
 */
static void put_pages(struct making *m)
{
	uint32_t nr = m->t->nr_blocks, block = 0, page, shift = 0, last;

	m->out->pages = align(m);
	if (nr == 0)
		return;
	last = m->t->blocks[nr - 1];
	while (last >> shift > nr)
		shift++;
	m->out->page_shift = shift;
	m->out->nr_pages = (last >> shift) + 1;
	for (page = 0; page < m->out->nr_pages; page++) {
		while (block + 1 < nr &&
		       m->t->blocks[block + 1] <= (uint64_t)page << shift)
			block++;
		ow_bytebuf_add(&m->bytes, &block, sizeof(block));
	}
	block = nr - 1;
	ow_bytebuf_add(&m->bytes, &block, sizeof(block));
}

/* The row that one of codes[] stands for. */
static void put_code(struct making *m, uint32_t i)
{
	const uint8_t *at = m->t->codes + 3 * (size_t)i;
	uint32_t code = at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16;
	struct ow_bpf_rule r = { .kind = OW_BPF_ESCAPE };
	struct ow_rule rules[OW_MAX_REGS];
	struct ow_row row;

	if (OW_TABLE_CODE_IS_SEQ(code)) {
		r.kind = OW_BPF_SEQ;
		r.cfa_off = (int32_t)OW_TABLE_CODE_SEQ(code);
	} else if (!ow_table_rule(m->t, OW_TABLE_FIRST + i, &row, rules)) {
		ow_tablemap_rule(m->t->arch, &row, &r);
	}
	align(m);
	ow_bytebuf_add(&m->bytes, &r, sizeof(r));
}

/* A row that the table leaves to the CFI; false: there is no room for more. */
static bool put_extra(void *arg, const struct ow_escape *from)
{
	struct making *m = arg;
	uint64_t last = from->fde_end - 1 - m->t->base;
	struct ow_bpf_extra e = {
		.off = (uint32_t)(from->start - m->t->base),
		.last = last <= UINT32_MAX ? (uint32_t)last : UINT32_MAX,
		.rule.kind = OW_BPF_ESCAPE,
	};

	if (from->row)
		ow_tablemap_rule(m->t->arch, from->row, &e.rule);
	ow_bytebuf_add(&m->bytes, &e, sizeof(e));
	return ++m->out->nr_extras < MOST_EXTRAS;
}

uint8_t *ow_tablemap_make(const struct ow_object *obj, const struct ow_table *t,
			  struct ow_bpf_object *ret, size_t *size_ret)
{
	static const uint8_t spare[2 * OW_BPF_CHUNK];
	_cleanup_(ow_freep) struct making *m = calloc(1, sizeof(*m));
	uint32_t i;

	if (!m)
		return NULL;
	*ret = (struct ow_bpf_object){
		.base = t->base,
		.nr_blocks = t->nr_blocks,
		.nr_codes = t->nr_codes,
	};
	m->t = t;
	m->out = ret;
	put_part(m, t->rows, t->rows_size);
	ret->blocks = put_part(m, t->blocks, 4 * (size_t)t->nr_blocks);
	put_pages(m);
	ret->seqs = put_part(m, t->seqs, t->seqs_size);
	ret->codes = align(m);
	for (i = 0; i < t->nr_codes; i++)
		put_code(m, i);
	ret->extras = align(m);
	if (!ow_escapes_list(obj, t, put_extra, m))
		m->bytes.failed = true;
	align(m);
	/* Rows are read 64 bytes at a time, the last ones too. */
	ow_bytebuf_add(&m->bytes, spare, sizeof(spare));
	*size_ret = m->bytes.size;
	if (!m->bytes.failed)
		return m->bytes.bytes;
	ow_bytebuf_deinit(&m->bytes);
	return NULL;
}
