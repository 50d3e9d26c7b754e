// SPDX-License-Identifier: BSD-2-Clause
#include "flatrows.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "err.h"
#include "error.h"
#include "padding.h"
#include "rowmemo.h"

#define MANY 8192 /* FDEs: then a second thread is worth its start */

/* The segment that was read last. */
struct code {
	uint64_t start, size;
	const uint8_t *bytes;
};

/* Rows under construction, of some of the FDEs. */
struct part {
	const struct ow_object *obj;
	const struct ow_arch *arch;
	const struct ow_listed_fde *list, *last; /* and where these end */
	const struct ow_listed_fde *end;         /* of all */
	uint64_t limit; /* vaddr where the last row can begin */
	struct ow_flatrows *out;
	int err;
	uint16_t entry_rule; /* of the first row of the last FDE */
	struct ow_cie_memo memo;
	struct ow_rowmemo sets; /* found before */
	struct code code;
	struct ow_cfa cfa;
};

static uint16_t intern_rule(struct ow_flatrows *f, uint32_t rule)
{
	uint32_t slot = rule * 0x9e3779b1U >> 19;
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

/* The set of the row that the machine stands at. */
static bool find_set(struct part *p, uint32_t *ret)
{
	struct ow_rule rules[OW_MAX_REGS];
	struct ow_row row;

	if (ow_rowmemo_get(&p->sets, &p->cfa, ret))
		return true;
	ow_cfa_row(&p->cfa, &row, rules);
	if (!ow_tablesets_find(&p->out->sets, p->arch, p->out->ra, &row, ret))
		return false;
	ow_rowmemo_put(&p->sets, &p->cfa, *ret);
	return true;
}

/* The number that stands for a row until rows are coded. */
static uint16_t rule_here(struct part *p)
{
	const struct ow_rule *cfa = &p->cfa.state.cfa;
	int32_t words = cfa->off / p->arch->word;
	uint32_t set;

	if (cfa->kind != OW_RULE_REG || cfa->off % p->arch->word || words < 0 ||
	    words > OW_TABLE_MAX_WORDS || !find_set(p, &set))
		return OW_TABLE_ESCAPE;
	return intern_rule(p->out, OW_TABLE_RULE(set, words));
}

static bool grow(struct ow_flatrows *f, size_t more)
{
	size_t room = f->room ? 2 * f->room : 1024;
	void *rows;

	if (room - f->nr < more)
		room = f->nr + more;
	rows = realloc(f->rows, room * sizeof(*f->rows));
	if (!rows)
		return false;
	f->rows = rows;
	f->room = room;
	return true;
}

static bool reserve(struct ow_flatrows *f, size_t more)
{
	return f->room - f->nr >= more || grow(f, more);
}

static int add_row(struct ow_flatrows *f, uint64_t vaddr, uint16_t rule,
		   bool entry)
{
	if (f->nr && f->rows[f->nr - 1].rule == rule)
		return 0;
	if (!reserve(f, 1))
		return -OW_CODE_MEMORY;
	f->rows[f->nr++] =
		(struct ow_flat_row){ vaddr, rule,
				      entry || rule == OW_TABLE_NONE };
	return 0;
}

/* Is what lies between only padding? */
static bool is_padding(const struct ow_object *obj, struct code *c,
		       uint64_t from, uint64_t to)
{
	if (from < c->start || to < from || to - c->start > c->size) {
		c->start = from;
		c->bytes = ow_elf_at(&obj->elf, from, &c->size);
		if (!c->bytes)
			c->size = 0;
	}
	return c->bytes && to - from <= c->size &&
	       ow_is_padding(obj->elf.arch, c->bytes + (from - c->start),
			     to - from);
}

/* From the last FDE's end to the next one's start. */
static int bridge_gap(struct ow_flatrows *f, const struct ow_object *obj,
		      struct code *code, uint64_t to)
{
	/* Nobody runs padding, so that the row before may hold for it too. */
	if (f->nr == 0 || to == f->end || is_padding(obj, code, f->end, to))
		return 0;
	return add_row(f, f->end, OW_TABLE_NONE, true);
}

/* The rows of the FDE that the machine stands at. */
static int add_rows(struct part *p)
{
	bool first = true;
	uint16_t rule;
	int more;

	while ((more = ow_cfa_next(&p->cfa)) > 0) {
		rule = rule_here(p);
		p->out->cfi_rows++;
		p->out->escapes += rule == OW_TABLE_ESCAPE;
		if (first)
			p->entry_rule = rule;
		first = false;
		if (add_row(p->out, p->cfa.start, rule, rule == p->entry_rule))
			return -OW_CODE_MEMORY;
	}
	return more;
}

static int add_fde(struct part *p, const struct ow_fde *fde, uint64_t end)
{
	struct ow_flatrows *f = p->out;
	int err = bridge_gap(f, p->obj, &p->code, fde->start);

	if (err)
		return err;
	if (f->nr == 0) {
		f->ra = fde->cie.ra;
		f->start = fde->start;
	}
	err = ow_cfa_begin(&p->cfa, &fde->cie, fde->insns, fde->start, end);
	if (!err)
		err = add_rows(p);
	f->end = end;
	if (err == -OW_CODE_MEMORY)
		return err;
	/* What can't be read is for the full CFI to refuse. */
	return err ? add_row(f, p->cfa.start, OW_TABLE_ESCAPE,
			     p->entry_rule == OW_TABLE_ESCAPE) :
		     0;
}

static void *make_part(void *arg)
{
	struct part *p = arg;
	struct ow_cfi_env env = { .memo = &p->memo };
	const struct ow_listed_fde *at;
	struct ow_fde fde = { .end = 0 };
	uint64_t end, off;

	for (at = p->list; at < p->last && !p->err; at++) {
		off = at->ref.off;
		ow_cfi_entry(&p->obj->cfi, &env, at->is_debug, &off, &fde);
		end = fde.end < p->limit ? fde.end : p->limit;
		/* A look-up takes the last FDE that starts below. */
		if (at + 1 < p->end && end > at[1].ref.start)
			end = at[1].ref.start;
		if (fde.start < end)
			p->err = add_fde(p, &fde, end);
	}
	return NULL;
}

static void destroy_part(struct part *p)
{
	if (p)
		ow_flatrows_destroy(p->out);
	free(p);
}

static struct part *create_part(const struct ow_object *obj,
				const struct ow_listed_fde *list, size_t first,
				size_t last, size_t nr)
{
	struct part *p = calloc(1, sizeof(*p));
	uint64_t base = list[0].ref.start;

	if (!p)
		return NULL;
	p->out = calloc(1, sizeof(*p->out));
	if (!p->out) {
		destroy_part(p);
		return NULL;
	}
	p->obj = obj;
	p->arch = obj->elf.arch;
	p->list = list + first;
	p->last = list + last;
	p->end = list + nr;
	/* Also at the end of all addresses. */
	p->limit = UINT64_MAX - base < UINT32_MAX ? UINT64_MAX :
						    base + UINT32_MAX;
	return p;
}

/* The rows of a part that is done with; NULL if there was no memory. */
static struct ow_flatrows *take_rows(struct part *p)
{
	struct ow_flatrows *f = NULL;

	if (p && !p->err) {
		f = p->out;
		p->out = NULL;
	}
	destroy_part(p);
	return f;
}

static struct ow_flatrows *make_alone(const struct ow_object *obj,
				      const struct ow_listed_fde *list,
				      size_t nr)
{
	struct part *p = create_part(obj, list, 0, nr, nr);

	if (p)
		make_part(p);
	return take_rows(p);
}

/* Each half by a thread; NULL if they don't fit together. */
static struct ow_flatrows *make_halves(const struct ow_object *obj,
				       const struct ow_listed_fde *list,
				       size_t nr)
{
	struct part *a = create_part(obj, list, 0, nr / 2, nr);
	struct part *b = create_part(obj, list, nr / 2, nr, nr);
	struct ow_flatrows *f, *g;
	pthread_t thread;

	if (a && b && !pthread_create(&thread, NULL, make_part, b)) {
		make_part(a);
		pthread_join(thread, NULL);
	} else if (a) {
		a->err = -OW_CODE_MEMORY;
	}
	f = take_rows(a);
	g = take_rows(b);
	if (!f || !g || !ow_flatrows_append(f, g, obj)) {
		ow_flatrows_destroy(f);
		f = NULL;
	}
	ow_flatrows_destroy(g);
	return f;
}

struct ow_flatrows *ow_flatrows_make(const struct ow_object *obj,
				     const struct ow_listed_fde *list,
				     size_t nr)
{
	struct ow_flatrows *f = NULL;

	if (nr >= MANY)
		f = make_halves(obj, list, nr);
	if (!f)
		f = make_alone(obj, list, nr);
	if (f && add_row(f, f->end, OW_TABLE_NONE, true)) {
		ow_flatrows_destroy(f);
		f = NULL;
	}
	return f;
}

void ow_flatrows_destroy(struct ow_flatrows *f)
{
	if (f)
		free(f->rows);
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
	for (i = 0; i < b->nr_rules; i++) {
		rule = b->rules[i];
		rule = OW_TABLE_RULE(sets[OW_TABLE_CODE_SET(rule)],
				     OW_TABLE_CODE_WORDS(rule));
		ret[OW_TABLE_FIRST + i] = intern_rule(a, rule);
		if (ret[OW_TABLE_FIRST + i] == OW_TABLE_ESCAPE)
			return false;
	}
	return true;
}

bool ow_flatrows_append(struct ow_flatrows *a, const struct ow_flatrows *b,
			const struct ow_object *obj)
{
	uint16_t rules[OW_TABLE_FIRST + OW_FLATROWS_SLOTS];
	struct code code = { .size = 0 };
	const struct ow_flat_row *row;
	size_t i;

	if (a->nr == 0 || b->nr == 0 || a->ra != b->ra ||
	    !translate(a, b, rules) || bridge_gap(a, obj, &code, b->start) ||
	    !reserve(a, b->nr))
		return false;
	for (i = 0; i < b->nr; i++) {
		row = &b->rows[i];
		add_row(a, row->vaddr, rules[row->rule], row->entry);
	}
	a->end = b->end;
	a->cfi_rows += b->cfi_rows;
	a->escapes += b->escapes;
	return true;
}
