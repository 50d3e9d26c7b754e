// SPDX-License-Identifier: BSD-2-Clause
#include "unwstep.h"

#include "err.h"
#include "unwrow.h"

#define BIT(slot) ((uint64_t)1 << (slot))

/* Signals' frames of a stack: they alone may lead anywhere, even in a circle. */
#define MOST_SIGNALS 1024

/* Nothing is left to be found: as unw_step() says it. */
static int end(struct ow_unw *u)
{
	u->ip = 0;
	return 0;
}

/*
 * The frame below was left: did that lead towards the stack's base?  A leaf that
 * saved nothing may leave sp where it was; a signal may have switched stacks.
 */
static int arrive(struct ow_unw *u, uint64_t ip, uint64_t sp, bool is_signal)
{
	uint64_t old_ip = u->ip, old_sp = u->sp;
	bool was_return = u->is_return;

	ip = ow_machine_code(ip);
	u->ip = ip;
	u->sp = sp;
	u->word[OW_M_SP] = sp;
	u->is_return = !is_signal;
	u->behind_signal = is_signal;
	if (ip == 0)
		return end(u);
	if (is_signal) {
		if (u->as->is_local)
			ow_local_enter(sp, old_sp);
		return (ip == old_ip && sp == old_sp) ||
				       u->nr_signals++ == MOST_SIGNALS ?
			       -UNW_EBADFRAME :
			       1;
	}
	u->sigcontext = 0;
	if (sp > old_sp || (sp == old_sp && !was_return && ip != old_ip))
		return 1;
	return -UNW_EBADFRAME;
}

/* Out of a signal's frame, as the kernel lays it out. */
static int leave_signal(struct ow_unw *u, const struct ow_sigframe *sf)
{
	uint64_t at = u->sp, ip, sp;
	unsigned int i;
	int err;

	err = ow_unw_load(u, at + (int64_t)sf->sp_off, &sp);
	for (i = 0; i < sf->nr && !err; i++)
		if (sf->rules[i].slot == OW_M_PC)
			err = ow_unw_load(u, at + sf->rules[i].off, &ip);
	if (err)
		return err;
	for (i = 0; i < sf->nr; i++)
		ow_unw_set_memory(u, sf->rules[i].slot, at + sf->rules[i].off);
	u->sigcontext = at + OW_M_UC;
	u->guessed = false;
	return arrive(u, ip, sp, true);
}

/* Is all of [low, high) readable?  Asked once for a piece of stack. */
static bool in_window(struct ow_unw *u, uint64_t low, uint64_t high)
{
	if (low >= u->window.start && high <= u->window.end)
		return true;
	if (u->sp < u->window.start || u->sp >= u->window.end)
		u->window = ow_local_extent(u->sp);
	return low >= u->window.start && high > low &&
	       ow_local_stretch(&u->window, high);
}

/* By a row in brief; 2: not in this way, and nothing has changed. */
static int step_saved(struct ow_unw *u, const struct ow_saved_row *s)
{
	uint64_t base = u->sp, cfa, ip;
	unsigned int i;
	int err = 0;

	if (s->flags & OW_SAVED_OUTERMOST)
		return end(u);
	if (s->flags & OW_SAVED_TRAMPOLINE)
		return leave_signal(u, ow_machine.arch->sigframes);
	if (s->cfa_reg != OW_M_SP)
		err = ow_unw_fetch(u, s->cfa_reg, &base);
	else if (u->guessed)
		return 2;
	cfa = base + (int64_t)s->cfa_off;
	if (err || cfa < u->sp ||
	    (u->as->is_local && s->depth &&
	     !in_window(u, cfa - 8u * s->depth, cfa)))
		return 2;
	if (!s->ra_words)
		err = ow_unw_fetch(u, OW_M_RA, &ip);
	else if (u->as->is_local)
		ip = ow_local_word(cfa - 8u * s->ra_words);
	else
		err = ow_unw_load(u, cfa - 8u * s->ra_words, &ip);
	if (err)
		return err;
	for (i = 0; i < s->nr; i++)
		ow_unw_set_memory(u, s->saves[i].slot,
				  cfa - 8u * s->saves[i].words);
	u->guessed = false;
	return arrive(u, ip, cfa, false);
}

/* The kind of rule that gives the address of what this one gives. */
static uint8_t address_kind(uint8_t kind)
{
	switch (kind) {
	case OW_RULE_AT_CFA: return OW_RULE_IS_CFA;
	case OW_RULE_AT_REG: return OW_RULE_REG;
	case OW_RULE_AT_EXPR: return OW_RULE_IS_EXPR;
	default: return kind;
	}
}

/* Fetch what the row may ask for; an expression may for any register. */
static void fetch_regs(const struct ow_unw *u, struct ow_scratch *s,
		       const struct ow_row *row)
{
	uint64_t want = BIT(row->cfa.reg) | BIT(OW_M_SP), val;
	unsigned int i;

	for (i = 0; i < row->nr; i++) {
		want |= BIT(row->rules[i].reg);
		if (row->rules[i].kind == OW_RULE_AT_EXPR ||
		    row->rules[i].kind == OW_RULE_IS_EXPR)
			want = UINT64_MAX;
	}
	if (row->cfa.kind == OW_RULE_IS_EXPR)
		want = UINT64_MAX;
	s->regs.known = 0;
	for (i = 0; i < OW_M_NR; i++)
		if (want >> i & 1 && !ow_unw_fetch(u, i, &val))
			ow_regs_set(&s->regs, i, val);
	/* So that a row's silence on it is not taken for its loss. */
	if (!ow_regs_known(&s->regs, OW_M_RA))
		ow_regs_set(&s->regs, OW_M_RA, 0);
	ow_regs_set(&s->regs, OW_M_PC, u->ip);
}

/* Return true if the row finds the caller by an sp that is a guess, or by fp. */
static bool is_guess(const struct ow_unw *u, const struct ow_row *row)
{
	if (row->how == OW_HOW_FP || row->how == OW_HOW_CALL)
		return true;
	return u->guessed &&
	       (row->cfa.kind == OW_RULE_IS_EXPR || row->cfa.reg == OW_M_SP);
}

/*
 * What the row led to is u's caller, at ip: return false if it is a guess, and can't be
 * one.  As with the engine's walks, what rows find by an sp that is a guess is one, too.
 */
static bool believe(struct ow_unw *u, const struct ow_row *row, uint64_t ip)
{
	bool guess = is_guess(u, row);

	u->guessed = guess && !(row->flags & OW_ROW_SIGNAL) &&
		     row->how != OW_HOW_CALL;
	return !guess || row->flags & OW_ROW_SIGNAL || ip == 0 ||
	       ow_unw_may_call(u, ip, row->how == OW_HOW_FP);
}

/*
 * Let the engine work out addresses in place of what lies there; registers that
 * nobody asks for are never read.
 */
static int step_row(struct ow_unw *u, struct ow_scratch *s,
		    const struct ow_row *row)
{
	struct ow_rule *rules = s->addresses;
	struct ow_row by_address = *row;
	struct ow_unw next = *u;
	uint64_t ip, sp;
	unsigned int i;
	int err;

	if (row->ra != OW_M_PC && row->ra != OW_M_RA)
		return -UNW_EBADVERSION;
	for (i = 0; i < row->nr; i++) {
		rules[i] = row->rules[i];
		rules[i].kind = address_kind(rules[i].kind);
	}
	by_address.rules = rules;
	fetch_regs(u, s, row);
	s->step.expr.left = OW_EXPR_STEPS;
	err = ow_step(&s->step, &by_address, &s->regs);
	if (err)
		return ow_unw_error(err);
	for (i = 0; i < row->nr; i++) {
		uint8_t slot = row->rules[i].slot;

		if (row->rules[i].kind == OW_RULE_SAME)
			continue;
		if (row->rules[i].kind == OW_RULE_UNDEFINED ||
		    !ow_regs_known(&s->regs, slot))
			ow_unw_lose(&next, BIT(slot));
		else if (rules[i].kind == row->rules[i].kind)
			ow_unw_set_value(&next, slot, s->step.vals[i]);
		else
			ow_unw_set_memory(&next, slot, s->step.vals[i]);
	}
	/* It is the CFA, unless a rule says where it was stored. */
	sp = s->regs.val[OW_M_SP];
	if (next.memory & BIT(OW_M_SP))
		err = ow_unw_load(&next, sp, &sp);
	ow_unw_set_value(&next, OW_M_SP, sp);
	if (!err)
		err = ow_unw_fetch(&next, row->ra, &ip);
	if (err)
		return err;
	if (row->how == OW_HOW_FP)
		ow_unw_lose(&next, ~(BIT(OW_M_FP) | BIT(OW_M_SP) |
				     BIT(OW_M_PC) | BIT(OW_M_RA)));
	if (!believe(&next, row, ow_machine_code(ip)))
		return -UNW_ENOINFO;
	if (row->flags & OW_ROW_SIGNAL)
		next.sigcontext = u->sp + OW_M_UC;
	*u = next;
	return arrive(u, ip, sp, row->flags & OW_ROW_SIGNAL);
}

int ow_unw_step_by(struct ow_unw *u, struct ow_scratch *s,
		   const struct ow_row *row)
{
	if (row->flags & OW_ROW_OUTERMOST)
		return end(u);
	return step_row(u, s, row);
}

/* Remember the row for other cursors. */
static void keep(struct ow_unw *u, const struct ow_row *row, uint64_t tag)
{
	struct ow_saved_row saved;
	struct ow_row trampoline;

	if (row->flags & OW_ROW_SIGNAL) {
		if (ow_machine.arch->nr_sigframes == 0 ||
		    !ow_unw_at_trampoline(u, &trampoline))
			return;
		saved = (struct ow_saved_row){ .flags = OW_SAVED_TRAMPOLINE };
	} else if (!ow_saved_row_make(&saved, ow_machine.arch, row)) {
		return;
	}
	saved.addr = ow_unw_lookup(u);
	saved.tag = tag;
	ow_rowcache_put(&u->as->cache, &saved);
}

static int step_found(struct ow_unw *u, struct ow_scratch *s)
{
	struct ow_row row;
	uint64_t tag;
	bool is_kept;
	int err = ow_unw_find_row(u, s, &row, &tag, &is_kept);

	if (err > 0) {
		err = end(u);
	} else if (err == 0) {
		if (is_kept && u->as->cache.entries)
			keep(u, &row, tag);
		err = ow_unw_step_by(u, s, &row);
	}
	ow_unw_put_row(u, s);
	return err;
}

/* With room on this stack, where all others are in use. */
static __attribute__((noinline)) int step_alone(struct ow_unw *u)
{
	struct ow_scratch own;

	return step_found(u, &own);
}

static __attribute__((noinline)) int step_slow(struct ow_unw *u)
{
	struct ow_scratch *s = ow_scratch_take(NULL);
	int err;

	if (!s)
		return step_alone(u);
	err = step_found(u, s);
	ow_scratch_give(s);
	return err;
}

int ow_unw_step(struct ow_unw *u)
{
	struct ow_saved_row saved;
	uint64_t addr = ow_unw_lookup(u);
	int err;

	if (u->ip == 0)
		return 0;
	if (u->as->cache.entries &&
	    ow_rowcache_get(&u->as->cache, addr, &saved) &&
	    (saved.tag == 0 ||
	     saved.tag == (u->as->is_local ? ow_unw_tag(u, addr) :
					     u->as->generation))) {
		err = step_saved(u, &saved);
		if (err != 2)
			return err;
	}
	return step_slow(u);
}
