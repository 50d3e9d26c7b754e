// SPDX-License-Identifier: BSD-2-Clause
#include "fderows.h"

#include <pthread.h>
#include <stdlib.h>

#include "error.h"
#include "fdeindex.h"
#include "rowmemo.h"

#define SOON 8 /* FDEs further on */

/* Rows under construction, of some of the FDEs. */
struct part {
	const struct ow_object *obj;
	const struct ow_arch *arch;
	const struct ow_fde_ref *list, *last; /* and where these end */
	const struct ow_fde_ref *end;         /* of all */
	uint64_t limit;   /* vaddr where the last row can begin */
	const bool *stop; /* or NULL */
	struct ow_flatrows *out;
	int err;
	uint16_t entry_rule; /* of the first row of the last FDE */
	struct ow_cie_memo memo;
	struct ow_rowmemo sets; /* found before */
	struct ow_flatcode code;
	const uint8_t *begun; /* CIE's instructions that cfa has run, or NULL */
	struct ow_cfa cfa;
};

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

/* The rule of the row that a set was just found for. */
static uint16_t find_rule(struct part *p, uint32_t set, uint32_t words)
{
	uint16_t *known =
		words < OW_ROWMEMO_WORDS ? &p->sets.last->rules[words] : NULL;
	uint16_t rule;

	if (known && *known)
		return *known;
	rule = ow_flatrows_rule(p->out, OW_TABLE_RULE(set, words));
	if (known)
		*known = rule;
	return rule;
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
	return find_rule(p, set, (uint32_t)words);
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
		if (ow_flatrows_add(p->out, p->cfa.start, rule,
				    rule == p->entry_rule))
			return -OW_CODE_MEMORY;
	}
	return more;
}

/* Run the CIE's instructions, or take what they came to for the FDE before. */
static int begin(struct part *p, const struct ow_fde *fde, uint64_t end)
{
	const uint8_t *insns = fde->cie.insns;
	int err = 0;

	if (p->begun != insns)
		err = ow_cfa_begin(&p->cfa, &fde->cie, fde->insns, fde->start,
				   end);
	else
		ow_cfa_begin_again(&p->cfa, &fde->cie, fde->insns, fde->start,
				   end);
	p->begun = err ? NULL : insns;
	return err;
}

static int add_fde(struct part *p, const struct ow_fde *fde, uint64_t end)
{
	struct ow_flatrows *f = p->out;
	int err = ow_flatrows_bridge(f, p->obj, &p->code, fde->start);

	if (err)
		return err;
	if (f->nr == 0) {
		f->ra = fde->cie.ra;
		f->start = fde->start;
	}
	err = begin(p, fde, end);
	if (!err)
		err = add_rows(p);
	f->end = end;
	if (err == -OW_CODE_MEMORY)
		return err;
	/* What can't be read is for the full CFI to refuse. */
	return err ? ow_flatrows_add(f, p->cfa.start, OW_TABLE_ESCAPE,
				     p->entry_rule == OW_TABLE_ESCAPE) :
		     0;
}

/*
 * What lies before a function that comes soon: looking at gaps goes through all
 * of the code, and nothing else does.
 */
static void prefetch_gap(const struct part *p, const struct ow_fde_ref *at)
{
	uint64_t skip;

	if (p->last - at <= SOON)
		return;
	skip = at[SOON].start - 1 - p->code.start;
	if (skip < p->code.size)
		__builtin_prefetch(p->code.bytes + skip);
}

static void *make_part(void *arg)
{
	struct part *p = arg;
	struct ow_cfi_env env = { .memo = &p->memo };
	const struct ow_fde_ref *at;
	struct ow_fde fde = { .end = 0 };
	uint64_t end, off;

	if (ow_is_given_up(p->stop))
		p->err = -OW_CODE_ABSENT;
	for (at = p->list; at < p->last && !p->err; at++) {
		prefetch_gap(p, at);
		off = at->off & ~OW_FDEROWS_DEBUG;
		ow_cfi_entry(&p->obj->cfi, &env, at->off & OW_FDEROWS_DEBUG,
			     &off, &fde);
		end = fde.end < p->limit ? fde.end : p->limit;
		/* A look-up takes the last FDE that starts below. */
		if (at + 1 < p->end && end > at[1].start)
			end = at[1].start;
		if (fde.start < end)
			p->err = add_fde(p, &fde, end);
		if (ow_is_given_up(p->stop))
			p->err = -OW_CODE_ABSENT;
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
				const struct ow_fde_ref *list, size_t first,
				size_t last, size_t nr, const bool *stop)
{
	struct part *p = calloc(1, sizeof(*p));
	uint64_t base = list[0].start;

	if (!p)
		return NULL;
	p->out = calloc(1, sizeof(*p->out));
	if (!p->out) {
		destroy_part(p);
		return NULL;
	}
	p->out->base = base;
	p->obj = obj;
	p->arch = obj->elf.arch;
	p->list = list + first;
	p->last = list + last;
	p->end = list + nr;
	p->stop = stop;
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
				      const struct ow_fde_ref *list, size_t nr,
				      const bool *stop)
{
	struct part *p = create_part(obj, list, 0, nr, nr, stop);

	if (p)
		make_part(p);
	return take_rows(p);
}

/* Each half by a thread; NULL if they don't fit together. */
static struct ow_flatrows *make_halves(const struct ow_object *obj,
				       const struct ow_fde_ref *list, size_t nr,
				       const bool *stop)
{
	struct part *a = create_part(obj, list, 0, nr / 2, nr, stop);
	struct part *b = create_part(obj, list, nr / 2, nr, nr, stop);
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

struct ow_flatrows *ow_fderows_make(const struct ow_object *obj,
				    const struct ow_fde_ref *list, size_t nr,
				    const bool *stop)
{
	struct ow_flatrows *f = NULL;

	if (nr >= OW_FDEINDEX_MANY)
		f = make_halves(obj, list, nr, stop);
	if (!f)
		f = make_alone(obj, list, nr, stop);
	if (f && ow_flatrows_add(f, f->end, OW_TABLE_NONE, true)) {
		ow_flatrows_destroy(f);
		f = NULL;
	}
	return f;
}
