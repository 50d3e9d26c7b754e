/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The usual way up a stack: rows that were seen before, in brief, and the stack
 * read a piece at a time.
 */
#ifndef OW_BPF_BRIEF_H
#define OW_BPF_BRIEF_H

#include "bpfstate.h"

#define RUN        8 /* steps in one go */
#define NR_SAVED   6
#define SAVE_BITS  5
#define SAVE_MASK  31
#define HAS_RA     (1U << 31) /* while a brief is being made */
#define PAGE_BYTES 4096

/* Registers that calls preserve (x86-64 psABI), in the order of brief.saves. */
#define SAVED0 6 /* rbp; then rbx, r12 to r15 */
#define SAVED1 3
#define SAVED2 12
#define SAVED3 13
#define SAVED4 14
#define SAVED5 15

/* The first of the two places of an addr. */
static __always_inline struct brief *pair_at(struct walk *w, __u64 addr)
{
	__u64 hash = (addr + (__u64)w->process.image * 0xff51afd7ed558ccdULL) *
		     0x9e3779b97f4a7c15ULL;
	__u64 pair = (hash >> 32) * (BRIEFS / 2) >> 32;

	opaque(pair);
	return &w->briefs[2 * pair];
}

static __always_inline bool is_brief_of(const struct brief *b,
					const struct walk *w, __u64 addr)
{
	return b->addr == addr && b->image == w->process.image;
}

/* What is known of addr, or NULL. */
static __always_inline struct brief *brief_of(struct walk *w, __u64 addr)
{
	struct brief *b = pair_at(w, addr);

	if (is_brief_of(b, w, addr))
		return b;
	return is_brief_of(b + 1, w, addr) ? b + 1 : NULL;
}

/* Let the window begin at from; -1 if that can't be read. */
__noinline int refill(struct walk *w, __u64 from)
{
	__u64 size;

	if (!w)
		return -1;
	w->window.start = from;
	w->window.nr = WINDOW;
	if (!bpf_probe_read_user(w->window.words, sizeof(w->window.words),
				 (void *)from))
		return 0;
	/* There may be nothing behind the page. */
	size = PAGE_BYTES - from % PAGE_BYTES;
	if (size < sizeof(w->window.words) &&
	    !bpf_probe_read_user(w->window.words, size, (void *)from)) {
		w->window.nr = size / 8;
		return 0;
	}
	w->window.nr = 0;
	return -1;
}

/* The word that lies so many below the one at. */
static __always_inline __u64 below(const struct walk *w, __u32 at, __u32 nr)
{
	return w->window.words[(at - nr) % WINDOW];
}

/* Other registers than fp; saves begins with the first of them. */
__noinline int restore(struct walk *w, __u32 at, __u32 saves)
{
	static const __u8 slots[] = { SAVED1, SAVED2, SAVED3, SAVED4, SAVED5 };
	__u32 i;

	if (!w)
		return 0;
#pragma unroll
	for (i = 0; i < NR_SAVED - 1; i++) {
		if (saves & SAVE_MASK)
			w->reg[slots[i]] = below(w, at, saves & SAVE_MASK);
		saves >>= SAVE_BITS;
	}
	return 0;
}

/* Registers that are among saves become known; others only stay so. */
static __always_inline void set_known(struct walk *w, __u32 saves)
{
	static const __u8 slots[] = { SAVED0, SAVED1, SAVED2,
				      SAVED3, SAVED4, SAVED5 };
	__u32 i;

	w->known &= arch.callee_saved;
#pragma unroll
	for (i = 0; i < NR_SAVED; i++) {
		if (saves & SAVE_MASK)
			w->known |= 1ULL << slots[i];
		saves >>= SAVE_BITS;
	}
	w->known |= 1ULL << arch.pc % SLOTS | 1ULL << arch.sp % SLOTS;
}

/*
 * Go as far as briefs lead in the usual way; true if they may lead further.
 * What is unusual is left to walk_step(), which finds the same row.
 */
__noinline int run_briefs(struct walk *w, struct stack *s)
{
	__u64 pc, sp, fp, cfa, top, addr, hash, f;
	__u32 i, at, nr, saves, saved;
	const struct brief *b;

	if (!w || !s)
		return 0;
	sp = reg_of(w, arch.sp);
	fp = reg_of(w, SAVED0);
	saved = is_known(w, SAVED0) ? SAVE_MASK : 0;
	addr = reg_of(w, arch.pc) - (w->flags & OW_FRAME_RETURN ? 1 : 0);
	hash = w->hash;
	nr = w->nr;
	for (i = 0; i < RUN; i++) {
		b = brief_of(w, addr);
		if (!b || b->kind != BRIEF_STEP || nr >= w->max)
			break;
		if (b->by_fp && !(saved & SAVE_MASK))
			break;
		cfa = (b->by_fp ? fp : sp) + (__s64)b->off;
		if (cfa <= sp || cfa % 8)
			break;
		top = cfa - w->window.start;
		if (top > 8 * (__u64)w->window.nr || top < 8 * b->flags) {
			if (refill(w, cfa - 8 * b->flags))
				break;
			top = 8 * b->flags;
			if (top > 8 * (__u64)w->window.nr)
				break;
		}
		at = (__u32)top / 8;
		pc = below(w, at, 1);
		if (pc == 0)
			break;
		saves = b->saves;
		saved |= saves;
		if (saves & SAVE_MASK)
			fp = below(w, at, saves & SAVE_MASK);
		if (saves >> SAVE_BITS)
			restore(w, at, saves >> SAVE_BITS);
		sp = cfa;
		addr = pc - 1;
		f = OW_SAMPLE_FRAME(pc, b->how, OW_FRAME_RETURN);
		s->frames[(w->nr_kernel + nr) % FRAMES] = f;
		hash = hash_more(hash, f);
		nr++;
		w->how = b->how;
	}
	if (nr == w->nr)
		return 0;
	w->reg[arch.pc % SLOTS] = addr + 1;
	w->reg[arch.sp % SLOTS] = sp;
	w->reg[SAVED0] = fp;
	set_known(w, saved);
	w->hash = hash;
	w->nr = nr;
	w->flags = OW_FRAME_RETURN;
	return i == RUN;
}

/* Which of the saved registers a slot is, or NR_SAVED. */
static __always_inline __u32 saved_of(__u32 slot)
{
	return slot == SAVED0                   ? 0 :
	       slot == SAVED1                   ? 1 :
	       slot >= SAVED2 && slot <= SAVED5 ? slot - SAVED2 + 2 :
						  NR_SAVED;
}

/* One register that the rule saves, into b; false if b has no room for it. */
__noinline int put_save(struct brief *b, __u32 slot, __u32 words)
{
	__u32 which = saved_of(slot);

	if (!b || words == 0 || words > SAVE_MASK)
		return 0;
	if (words > b->flags)
		b->flags = words;
	if (slot == arch.ra && words == 1)
		b->saves |= HAS_RA;
	else if (which < NR_SAVED)
		b->saves |= words << which * SAVE_BITS;
	else
		return 0;
	return 1;
}

/*
 * Fill b, if the rule at w->rule is a usual one.  What comes together stands in
 * memory, where the verifier doesn't follow it.
 */
__noinline int put_step(struct walk *w, struct brief *b)
{
	const struct ow_bpf_rule *r;
	__u32 i, words;

	if (!w || !b)
		return 0;
	r = &w->rule;
	if (r->kind != OW_BPF_REG || r->flags || r->base != OW_BPF_BASE_CFA ||
	    (r->cfa_reg != arch.sp && r->cfa_reg != SAVED0) || r->base_off & 7)
		return 0;
	b->saves = 0;
	b->flags = 1;
	for (i = 0; i < OW_BPF_SAVES; i++) {
		if (i >= r->nr)
			break;
		words = (__u32)-r->base_off / 8 - r->saves[i].word;
		if (!put_save(b, r->saves[i].slot, words))
			return 0;
	}
	if (!(b->saves & HAS_RA))
		return 0;
	b->saves &= ~HAS_RA;
	b->kind = BRIEF_STEP;
	b->off = r->cfa_off;
	b->by_fp = r->cfa_reg == SAVED0;
	b->how = r->how;
	return 1;
}

/* The whole rule again. */
static __always_inline void get_step(struct walk *w, const struct brief *b)
{
	static const __u8 slots[] = { SAVED0, SAVED1, SAVED2,
				      SAVED3, SAVED4, SAVED5 };
	struct ow_bpf_rule *r = &w->rule;
	__u32 i, words, nr = 1;

	r->kind = OW_BPF_REG;
	r->flags = 0;
	r->cfa_reg = b->by_fp ? SAVED0 : arch.sp;
	r->cfa_off = b->off;
	r->base = OW_BPF_BASE_CFA;
	r->depth = b->flags;
	r->base_off = -8 * (__s32)b->flags;
	r->how = b->how;
	r->saves[0].slot = arch.ra;
	r->saves[0].word = b->flags - 1;
	for (i = 0; i < NR_SAVED; i++) {
		words = b->saves >> i * SAVE_BITS & SAVE_MASK;
		if (!words)
			continue;
		r->saves[nr % OW_BPF_SAVES].slot = slots[i];
		r->saves[nr % OW_BPF_SAVES].word = b->flags - words;
		nr++;
	}
	r->nr = nr;
}

/* Remember the rule that was found by w->lookup. */
static __always_inline void put_brief(struct walk *w, __u64 addr)
{
	struct brief *b = pair_at(w, addr);
	const struct ow_bpf_rule *r = &w->rule;

	b[1] = b[0]; /* in place of the older one */
	b->addr = addr;
	b->image = w->process.image;
	if (put_step(w, b))
		return;
	b->flags = r->flags;
	b->how = r->how;
	if (r->kind == OW_BPF_NONE || r->kind == OW_BPF_ESCAPE ||
	    r->kind == OW_BPF_SIGNAL || r->flags & OW_BPF_RULE_OUTERMOST) {
		b->kind = BRIEF_BARE;
		b->by_fp = r->kind;
		return;
	}
	b->kind = BRIEF_ROW;
	b->off = (__s32)w->lookup.at;
	b->saves = w->lookup.number;
	b->by_fp = w->lookup.in_list;
}

/* Into w->rule what is known of addr; false if nothing is. */
__noinline int get_brief(struct walk *w, __u64 addr)
{
	const struct brief *b;

	if (!w)
		return 0;
	b = brief_of(w, addr);
	if (!b)
		return 0;
	if (b->kind == BRIEF_STEP) {
		get_step(w, b);
		return 1;
	}
	if (b->kind == BRIEF_BARE) {
		w->rule.kind = b->by_fp;
		w->rule.flags = b->flags;
		w->rule.how = b->how;
		return 1;
	}
	w->lookup.number = b->saves;
	w->lookup.at = (__u32)b->off;
	w->lookup.in_list = b->by_fp;
	if (load_rule(&w->lookup))
		return 0;
	w->rule = w->lookup.rule;
	w->rule.flags = b->flags;
	return 1;
}

#endif /* OW_BPF_BRIEF_H */
