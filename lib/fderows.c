// SPDX-License-Identifier: BSD-2-Clause
#include "fderows.h"

#include <stdlib.h>
#include <string.h>

#include "cfainsn.h"
#include "cfastates.h"
#include "error.h"
#include "fdeindex.h"
#include "rowexpr.h"
#include "worktime.h"

#define SOON      8  /* FDEs further on */
#define MANY      16 /* rows of an FDE: few objects have more, on average */
#define LINE      64 /* of a cache; most FDEs are not longer */
#define WIDEST    3  /* bytes of an instruction that is run by states */
/* Steps (worktime.h) of an FDE, and of a row, beside one for each byte; and told at once. */
#define FDE_STEPS 32
#define ROW_STEPS 64
#define TOLD      65536

/* Rows under construction, of some of the FDEs. */
struct part {
	const struct ow_object *obj;
	const struct ow_arch *arch;
	const struct ow_fde_ref *list, *last; /* and where these end */
	const struct ow_fde_ref *end;         /* of all */
	uint64_t limit;      /* vaddr where the last row can begin */
	uint64_t bytes_left; /* of FDEs, whose bytes needn't be their own */
	const bool *stop;    /* or NULL */
	struct ow_flatrows *out;
	uint64_t steps; /* not told yet */
	int err;
	uint16_t entry_rule; /* of the first row of the last FDE */
	struct ow_cie_memo memo;
	struct ow_cfastates states; /* each with its row's rule */
	const uint8_t *begun; /* CIE whose instructions cfa has run, or NULL */
	uint16_t first;       /* state after them, or 0 */
	struct ow_cfa cfa;
};

/* The number that stands for the machine's row until rows are coded. */
static uint16_t rule_here(struct part *p)
{
	const struct ow_rule *cfa = &p->cfa.state.cfa;
	int32_t words = cfa->off / p->arch->word;
	struct ow_rule rules[OW_MAX_REGS];
	struct ow_row row;
	uint32_t set;

	if (cfa->kind == OW_RULE_IS_EXPR) {
		ow_cfa_row(&p->cfa, &row, rules);
		return ow_row_is_sigframe(p->arch, &row) ? OW_TABLE_SIGNAL :
							   OW_TABLE_ESCAPE;
	}
	if (cfa->kind != OW_RULE_REG || cfa->off % p->arch->word || words < 0 ||
	    words > OW_TABLE_MAX_WORDS)
		return OW_TABLE_ESCAPE;
	ow_cfa_row(&p->cfa, &row, rules);
	if (!ow_tablesets_find(&p->out->sets, p->arch, p->out->ra, &row, &set))
		return OW_TABLE_ESCAPE;
	return ow_flatrows_rule(p->out, OW_TABLE_RULE(set, (uint32_t)words));
}

/*
 * The same for a state.  What an expression's bytes say is not its own: they are
 * a section's, of which there may be two.
 */
static uint16_t rule_of(struct part *p, uint16_t state)
{
	uint16_t *known = &p->states.values[state], rule;

	if (*known)
		return *known;
	p->steps += ROW_STEPS;
	ow_cfastates_get(&p->states, state, &p->cfa);
	rule = rule_here(p);
	if (p->cfa.state.cfa.kind != OW_RULE_IS_EXPR)
		*known = rule;
	return rule;
}

/* The size of an instruction that moves on, and how far it does; or 0. */
static inline unsigned int move_size(const uint8_t *at, uint32_t *delta_ret)
{
	if ((at[0] & 0xc0) == OW_CFA_advance_loc) {
		*delta_ret = at[0] & 0x3f;
		return 1;
	}
	if (at[0] == OW_CFA_advance_loc1) {
		*delta_ret = at[1];
		return 2;
	}
	if (at[0] != OW_CFA_advance_loc2)
		return 0;
	*delta_ret = at[1] | (uint32_t)at[2] << 8;
	return 3;
}

/*
 * The size of an instruction that makes a state of one, as compilers write it;
 * or 0.
 */
static inline unsigned int usual_size(const uint8_t *at)
{
	switch (at[0] & 0xc0) {
	case OW_CFA_offset: return at[1] < 0x80 ? 2 : 0;
	case OW_CFA_restore: return 1;
	}
	switch (at[0]) {
	case OW_CFA_AARCH64_negate_ra_state: return 1;
	case OW_CFA_def_cfa: return at[1] < 0x80 && at[2] < 0x80 ? 3 : 0;
	case OW_CFA_def_cfa_register: return at[1] < 0x80 ? 2 : 0;
	case OW_CFA_def_cfa_offset:
	case OW_CFA_GNU_args_size:
		return at[1] < 0x80 ? 2 : at[2] < 0x80 ? 3 : 0;
	default: return 0;
	}
}

/* An FDE whose instructions are run by states. */
struct run {
	uint64_t start, end;          /* vaddrs: of the row, of the FDE */
	struct ow_flat_row *row;      /* the next one; there is room for all */
	uint64_t base, rows, escapes; /* as struct ow_flatrows has them */
	uint16_t rule;                /* of the row before */
	uint16_t entry_rule;          /* of the FDE's first row, or 0 */
	uint16_t state;
};

/* Apart, so that what else is known can be in registers. */
struct saved {
	uint16_t states[OW_CFA_DEPTH];
	unsigned int nr;
};

/* The row that begins at start. */
static inline void put_state(struct part *p, struct run *r)
{
	uint16_t rule = rule_of(p, r->state);

	r->rows++;
	r->escapes += rule == OW_TABLE_ESCAPE;
	if (r->entry_rule == 0)
		r->entry_rule = rule;
	if (rule != r->rule)
		*r->row++ =
			(struct ow_flat_row){ (uint32_t)(r->start - r->base),
					      rule, rule == r->entry_rule };
	r->rule = rule;
}

/* False: not for the bytes of any compiler. */
static inline bool move_on(struct part *p, struct run *r, uint64_t delta)
{
	if (delta > UINT64_MAX - r->start)
		return false;
	if (delta)
		put_state(p, r);
	r->start += delta;
	return true;
}

/* Run an instruction that has no operand, or make a state by it: its size, or 0. */
static inline unsigned int change(struct part *p, struct run *r,
				  struct saved *saved, const uint8_t *at)
{
	unsigned int size = usual_size(at);
	uint32_t insn = at[0];

	if (size) {
		if (size > 1)
			insn |= (uint32_t)at[1] << 8;
		if (size > 2)
			insn |= (uint32_t)at[2] << 16;
		r->state = ow_cfastates_next(&p->states, r->state, insn, size,
					     &p->cfa);
		return r->state ? size : 0;
	}
	if (at[0] == OW_CFA_nop)
		return 1;
	if (at[0] == OW_CFA_remember_state && saved->nr < OW_CFA_DEPTH)
		saved->states[saved->nr++] = r->state;
	else if (at[0] == OW_CFA_restore_state && saved->nr)
		r->state = saved->states[--saved->nr];
	else
		return 0;
	return 1;
}

/* The last bytes of an FDE with others behind them. */
static const uint8_t *pad(const uint8_t *at, size_t left, uint8_t *buf)
{
	memset(buf, 0, WIDEST);
	memcpy(buf, at, left);
	return buf;
}

/* Run them all; false: one is for the machine to run. */
static inline bool run_all(struct part *p, struct run *r,
			   struct ow_cursor insns, uint64_t align)
{
	const uint8_t *at = insns.pos, *from;
	struct saved saved = { .nr = 0 };
	uint8_t padded[WIDEST];
	unsigned int size;
	uint32_t delta;
	size_t left;

	for (; at < insns.end && r->start < r->end; at += size) {
		left = (size_t)(insns.end - at);
		from = left < WIDEST ? pad(at, left, padded) : at;
		size = move_size(from, &delta);
		if (!size)
			size = change(p, r, &saved, from);
		else if (!move_on(p, r, delta * align))
			return false;
		if (size == 0 || size > left)
			return false;
	}
	if (r->start < r->end)
		put_state(p, r);
	return true;
}

/* The rows of an FDE by states; false: that can't be, and none is added. */
static bool add_by_states(struct part *p, const struct ow_fde *fde,
			  uint64_t end)
{
	struct ow_flatrows *f = p->out;
	struct run r = { .start = fde->start,
			 .end = end,
			 .base = f->base,
			 .rule = f->nr ? f->rows[f->nr - 1].rule : 0,
			 .state = p->first };

	if (p->first == 0 || fde->insns.bad ||
	    fde->cie.code_align > UINT32_MAX ||
	    !ow_flatrows_reserve(f,
				 1 + (size_t)(fde->insns.end - fde->insns.pos)))
		return false;
	r.row = f->rows + f->nr;
	if (!run_all(p, &r, fde->insns, fde->cie.code_align))
		return false;
	f->nr = (size_t)(r.row - f->rows);
	f->cfi_rows += r.rows;
	f->escapes += r.escapes;
	p->entry_rule = r.entry_rule;
	return true;
}

/* The same by the machine.  0, or what the FDE's bytes deserve. */
static int add_by_machine(struct part *p, const struct ow_fde *fde,
			  uint64_t end)
{
	bool first = true;
	uint16_t rule;
	int more;

	ow_cfa_begin_again(&p->cfa, &fde->cie, fde->insns, fde->start, end);
	while ((more = ow_cfa_next(&p->cfa)) > 0) {
		p->steps += ROW_STEPS;
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

/* Run the CIE's instructions, if they weren't for the FDE before. */
static int begin(struct part *p, const struct ow_fde *fde, uint64_t end)
{
	int err;

	p->cfa.cie = &fde->cie;
	if (p->begun == fde->cie_entry)
		return 0;
	p->steps += (uint64_t)(fde->cie.insns_end - fde->cie.insns);
	err = ow_cfa_begin(&p->cfa, &fde->cie, fde->insns, fde->start, end);
	p->begun = err ? NULL : fde->cie_entry;
	p->first = err ? 0 : ow_cfastates_begin(&p->states, &p->cfa);
	return err;
}

static int add_fde(struct part *p, const struct ow_fde *fde, uint64_t end)
{
	struct ow_flatrows *f = p->out;
	int err = ow_flatrows_skip(f, fde->start);

	if (err)
		return err;
	if (f->nr == 0) {
		f->ra = fde->cie.ra;
		f->start = fde->start;
	}
	err = begin(p, fde, end);
	if (!err && !add_by_states(p, fde, end))
		err = add_by_machine(p, fde, end);
	f->end = end;
	if (err == -OW_CODE_MEMORY)
		return err;
	/* What can't be read is for the full CFI to refuse. */
	return err ? ow_flatrows_add(f, p->cfa.start, OW_TABLE_ESCAPE,
				     p->entry_rule == OW_TABLE_ESCAPE) :
		     0;
}

/* An FDE that comes soon: FDEs needn't lie in the order of their functions. */
static void prefetch(const struct part *p, const struct ow_fde_ref *at)
{
	const struct ow_section *eh = &p->obj->cfi.eh_frame;
	uint64_t off;

	if (p->last - at <= SOON)
		return;
	off = at[SOON].off;
	if (off < eh->size) {
		__builtin_prefetch(eh->bytes + off);
		__builtin_prefetch(eh->bytes + off + LINE);
	}
}

static void tell_steps(struct part *p, uint64_t least)
{
	if (p->steps < least)
		return;
	ow_worktime_step(p->steps);
	p->steps = 0;
}

static void *make_part(void *arg)
{
	struct part *p = arg;
	struct ow_cfi_env env = { .memo = &p->memo };
	const struct ow_fde_ref *at;
	struct ow_fde fde = { .end = 0 };
	uint64_t end, off;
	int kind;

	if (ow_is_given_up(p->stop))
		p->err = -OW_CODE_ABSENT;
	for (at = p->list; at < p->last && !p->err; at++) {
		prefetch(p, at);
		off = at->off & ~OW_FDEROWS_DEBUG;
		kind = ow_cfi_entry(&p->obj->cfi, &env,
				    at->off & OW_FDEROWS_DEBUG, &off, &fde);
		if (kind != 1 || fde.start != at->start ||
		    fde.end == fde.start || off - fde.off > p->bytes_left)
			p->err = -OW_CODE_FORMAT;
		else
			p->bytes_left -= off - fde.off;
		p->steps += FDE_STEPS + (off - fde.off);
		tell_steps(p, TOLD);
		end = fde.end < p->limit ? fde.end : p->limit;
		/* A look-up takes the last FDE that starts below. */
		if (at + 1 < p->end && end > at[1].start)
			end = at[1].start;
		if (!p->err && fde.start < end)
			p->err = add_fde(p, &fde, end);
		if (ow_is_given_up(p->stop))
			p->err = -OW_CODE_ABSENT;
	}
	tell_steps(p, 0);
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
	p->out->own = ow_owner_beside(&obj->owner);
	/* With the rows of parts behind it, most often. */
	ow_flatrows_grow(p->out, (nr - first) * MANY);
	p->obj = obj;
	p->arch = obj->elf.arch;
	p->list = list + first;
	p->last = list + last;
	p->end = list + nr;
	p->stop = stop;
	p->bytes_left = obj->cfi.eh_frame.size + obj->cfi.debug_frame.size;
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
	struct ow_helper helper;

	if (a && b && !ow_helper_start(&helper, make_part, b)) {
		make_part(a);
		ow_helper_join(&helper);
	} else if (a) {
		a->err = -OW_CODE_MEMORY;
	}
	f = take_rows(a);
	g = take_rows(b);
	if (!f || !g || !ow_flatrows_append(f, g)) {
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
