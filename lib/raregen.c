// SPDX-License-Identifier: BSD-2-Clause
#include "raregen.h"

#include <stdlib.h>
#include <string.h>

#include "err.h"
#include "error.h"
#include "escapes.h"
#include "fderows.h"
#include "rare.h"
#include "rowexpr.h"

#define RECENT 256 /* lists of rules, and expressions: neighbours are alike */

/* Where what was written before stands, the last RECENT of it. */
struct recent {
	uint32_t at[RECENT], size[RECENT]; /* bytes */
	uint32_t nr;                       /* in all */
};

struct making {
	const struct ow_table *t;
	const bool *stop; /* or NULL */
	struct ow_bytebuf rows, rules, exprs;
	struct recent recent_rules, recent_exprs;
};

/* Where in b those bytes are, now if they weren't; false: no room. */
static bool intern(struct ow_bytebuf *b, struct recent *r, size_t most,
		   const void *bytes, size_t size, uint32_t *ret)
{
	uint32_t i, k;

	for (i = 0; i < r->nr && i < RECENT; i++) {
		k = (r->nr - 1 - i) % RECENT;
		if (r->size[k] == size &&
		    memcmp(b->bytes + r->at[k], bytes, size) == 0) {
			*ret = r->at[k];
			return true;
		}
	}
	if (b->size + size > most)
		return false;
	k = r->nr++ % RECENT;
	*ret = r->at[k] = (uint32_t)b->size;
	r->size[k] = (uint32_t)size;
	ow_bytebuf_add(b, bytes, size);
	return !b->failed;
}

/* A register plus an offset, or what lies there, is said without expression. */
static bool simplify(const struct ow_arch *arch, const struct ow_rowexpr *e,
		     struct ow_rare_rule *rule)
{
	bool at = rule->kind == OW_RARE_AT_EXPR;
	struct ow_plainexpr plain;

	if (!ow_rowexpr_plain(arch, e, &plain) || (at && plain.deref) ||
	    plain.add)
		return false;
	rule->kind = at || plain.deref ? OW_RARE_AT_REG : OW_RARE_REG;
	rule->reg = plain.reg;
	rule->off = plain.off;
	return true;
}

static bool make_rule(struct making *m, const struct ow_row *row,
		      const struct ow_rule *from, struct ow_rare_rule *ret,
		      unsigned int *ops)
{
	struct ow_rowexpr e;
	unsigned int n;
	uint32_t at;

	*ret = (struct ow_rare_rule){
		.slot = from->slot,
		.kind = from->kind,
		.reg = from->reg,
		.off = from->off,
	};
	if (from->kind != OW_RULE_AT_EXPR && from->kind != OW_RULE_IS_EXPR)
		return true;
	if (!ow_rowexpr_of(row, from, &e))
		return false;
	ret->reg = 0;
	if (simplify(m->t->arch, &e, ret))
		return true;
	n = ow_rare_ops(m->t->arch, e.code, e.size);
	*ops += n;
	if (n == 0 || *ops > OW_RARE_MAX_OPS ||
	    !intern(&m->exprs, &m->recent_exprs, OW_RARE_MAX_EXPRS, e.whole,
		    (size_t)(e.code + e.size - e.whole), &at))
		return false;
	ret->off = (int32_t)at;
	return true;
}

static void put_row(struct making *m, const struct ow_escape *e)
{
	struct ow_rare_rule rules[1 + OW_MAX_REGS];
	const struct ow_row *row = e->row;
	struct ow_rare_row r = {
		.start = (uint32_t)(e->start - m->t->base),
		.end = (uint32_t)(e->end - m->t->base),
		.nr = row->nr,
		.flags = row->flags & ~OW_ROW_LAST,
		.ra = row->ra,
	};
	unsigned int ops = 0, i;
	struct ow_rule cfa = row->cfa;
	uint32_t at;

	if (cfa.kind == OW_RULE_NONE)
		return;
	cfa.slot = 0;
	if (e->end == e->fde_end)
		r.flags |= OW_RARE_LAST;
	if (!make_rule(m, row, &cfa, &rules[0], &ops))
		return;
	for (i = 0; i < row->nr; i++)
		if (!make_rule(m, row, &row->rules[i], &rules[1 + i], &ops))
			return;
	if (!intern(&m->rules, &m->recent_rules,
		    OW_RARE_MAX_RULES * sizeof(rules[0]), rules,
		    (1 + row->nr) * sizeof(rules[0]), &at))
		return;
	r.first = at / sizeof(rules[0]);
	ow_bytebuf_add(&m->rows, &r, sizeof(r));
}

/* What can't be read is left out; false: there is no room for more, or no time. */
static bool take(void *arg, const struct ow_escape *e)
{
	struct making *m = arg;

	if (e->row)
		put_row(m, e);
	return !ow_is_given_up(m->stop) &&
	       m->rows.size < OW_RARE_MAX_ROWS * sizeof(struct ow_rare_row);
}

static void put_together(const struct making *m, struct ow_bytebuf *ret)
{
	struct ow_rare_head head = {
		.magic = OW_RARE_MAGIC,
		.nr_rows =
			(uint32_t)(m->rows.size / sizeof(struct ow_rare_row)),
		.nr_rules =
			(uint32_t)(m->rules.size / sizeof(struct ow_rare_rule)),
		.exprs_size = (uint32_t)m->exprs.size,
	};

	if (head.nr_rows == 0 || m->rows.failed || m->rules.failed ||
	    m->exprs.failed)
		return;
	ow_bytebuf_add(ret, &head, sizeof(head));
	ow_bytebuf_add(ret, m->rows.bytes, m->rows.size);
	ow_bytebuf_add(ret, m->rules.bytes, m->rules.size);
	ow_bytebuf_add(ret, m->exprs.bytes, m->exprs.size);
}

void ow_rare_generate(const struct ow_object *obj, const struct ow_table *t,
		      const bool *stop, struct ow_bytebuf *ret)
{
	_cleanup_(ow_freep) struct making *m = calloc(1, sizeof(*m));

	if (!m) {
		ret->failed = true;
		return;
	}
	m->t = t;
	m->stop = stop;
	if (ow_escapes_list(obj, t, take, m))
		put_together(m, ret);
	else
		ret->failed = true;
	ow_bytebuf_deinit(&m->rows);
	ow_bytebuf_deinit(&m->rules);
	ow_bytebuf_deinit(&m->exprs);
}
