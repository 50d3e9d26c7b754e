/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The usual way up a stack: rows that were seen before, in brief, and the stack
 * read a piece at a time.
 */
#ifndef OW_BPF_BRIEF_H
#define OW_BPF_BRIEF_H

#include "bpfstate.h"

#define NR_OTHERS 5
#define SAVE_BITS 5
#define SAVE_MASK 31
#define HAS_RA    (1U << 31)   /* while a brief is being made */
#define MOST_READ (8 * WINDOW) /* bytes of the stack at a time */

/* How run_briefs() ended. */
#define RUN_OFF 0
#define RUN_ON  1
#define RUN_OUT 2

/* Registers that calls preserve (x86-64 psABI), in the order of brief.saves. */
#define SAVED0 6 /* rbp; then rbx, r12 to r15 */
#define SAVED1 3
#define SAVED2 12
#define SAVED3 13
#define SAVED4 14
#define SAVED5 15
#define OTHERS                                                               \
	(1ULL << SAVED1 | 1ULL << SAVED2 | 1ULL << SAVED3 | 1ULL << SAVED4 | \
	 1ULL << SAVED5)

static __always_inline struct brief *brief_at(struct walk *w, __u32 at)
{
	opaque(at);
	return &w->briefs[at % BRIEFS];
}

static __always_inline bool is_brief_of(const struct brief *b,
					const struct walk *w, __u64 addr)
{
	return b->addr == addr && b->image == w->process.image;
}

static __always_inline struct place *places_of(struct walk *w, __u64 addr)
{
	__u64 hash = (addr + (__u64)w->process.image * 0xff51afd7ed558ccdULL) *
		     0x9e3779b97f4a7c15ULL;
	__u64 place = (hash >> 32) * PLACES >> 32;

	opaque(place);
	return &w->places[place];
}

/* Which brief is of addr, by the index; 0 if none is. */
static __always_inline __u32 find_brief(struct walk *w, __u64 addr)
{
	const struct place *p = places_of(w, addr);

	if (is_brief_of(brief_at(w, p->of[0]), w, addr))
		return p->of[0];
	return is_brief_of(brief_at(w, p->of[1]), w, addr) ? p->of[1] : 0;
}

/* The frame after the last one has this brief; so has the next walk's, maybe. */
static __always_inline void came_to(struct walk *w, __u32 at)
{
	brief_at(w, w->last)->next = at;
	w->last = at;
}

/*
 * Let the window begin at from; -1 if not as many bytes as that can be read
 * there.  How many are read matters less than how often.
 */
__noinline int refill(struct walk *w, __u64 from, __u32 least)
{
	__u64 size = MOST_READ, left, next, *wall;

	if (!w)
		return -1;
	left = PAGE_BYTES - from % PAGE_BYTES;
	next = from + left;
	wall = &w->walls[next / PAGE_BYTES % WALLS];
	w->window.start = from;
	w->window.size = 0;
	if (left < size && *wall == next)
		size = left;
	if (bpf_probe_read_user(w->window.words, size, (void *)from)) {
		/* There may be nothing behind the page. */
		if (left >= size ||
		    bpf_probe_read_user(w->window.words, left, (void *)from))
			return -1;
		*wall = next;
		size = left;
	}
	w->window.size = size & ~7ULL;
	return w->window.size < least ? -1 : 0;
}

/*
 * The word so many bytes below the window's top.  That is kept in memory, where
 * the verifier doesn't follow it: what it comes from makes no paths different.
 */
static __always_inline __u64 below(const struct walk *w, __u64 bytes)
{
	return *(const __u64 *)((const char *)w->window.words +
				((w->window.top - bytes) & (8 * WINDOW - 8)));
}

/*
 * What run_briefs() is up to.  Of the registers that calls preserve only fp is
 * restored: others are hardly ever needed, and where one is, the walk begins
 * anew, careful.
 */
struct run {
	__u64 addr, sp, fp, hash;
	__u32 nr; /* steps */
	__u32 saved_fp, saved_others;
	__u8 how;
};

static __always_inline void put_run(struct walk *w, const struct run *r)
{
	w->known &= arch.callee_saved;
	if (r->saved_others) {
		w->known &= ~OTHERS;
		w->forgot = 1;
	}
	if (r->saved_fp) {
		w->known |= 1ULL << SAVED0;
		w->reg[SAVED0] = r->fp;
	}
	w->known |= 1ULL << arch.pc % SLOTS | 1ULL << arch.sp % SLOTS;
	w->reg[arch.pc % SLOTS] = r->addr + 1;
	w->reg[arch.sp % SLOTS] = r->sp;
	w->hash = r->hash;
	w->nr += r->nr;
	w->how = r->how;
	w->flags = OW_FRAME_RETURN;
}

/* The brief of addr, which is likely the one that came next last; or NULL. */
static __always_inline const struct brief *next_brief(struct walk *w,
						      __u64 addr)
{
	__u32 at = brief_at(w, w->last)->next;

	if (is_brief_of(brief_at(w, at), w, addr)) {
		w->last = at;
		return brief_at(w, at);
	}
	at = find_brief(w, addr);
	if (!at)
		return NULL;
	came_to(w, at);
	return brief_at(w, at);
}

/*
 * Go as far as briefs lead in the usual way: RUN_ON if they may lead further,
 * or RUN_OUT where the stack ends.  What is unusual is left to walk_step(),
 * which finds the same row.
 */
__noinline int run_briefs(struct walk *w)
{
	struct run r = { 0 };
	__u64 pc, cfa, top, *frames;
	const struct brief *b;
	int ret = RUN_ON;
	__u32 i, left;

	if (!w || w->careful || w->guessed || w->nr >= w->max)
		return 0;
	r.sp = reg_of(w, arch.sp);
	if (r.sp % 8)
		return 0;
	/* One that isn't known is none to count from. */
	r.fp = is_known(w, SAVED0) ? reg_of(w, SAVED0) : 1;
	r.addr = reg_of(w, arch.pc) - (w->flags & OW_FRAME_RETURN ? 1 : 0);
	r.hash = w->hash;
	left = w->max - w->nr;
	frames = &w->stack.frames[(w->nr_kernel + w->nr) % FRAMES];
	for (i = 0; i < RUN; i++) {
		b = i < left ? next_brief(w, r.addr) : NULL;
		ret = b && b->kind == BRIEF_BASE ? RUN_OUT : RUN_OFF;
		if (!b)
			break;
		cfa = r.sp + (__s64)b->off;
		if (b->kind != BRIEF_BY_SP) {
			cfa = r.fp + (__s64)b->off;
			if (b->kind != BRIEF_BY_FP || cfa <= r.sp || cfa % 8)
				break;
		}
		top = cfa - w->window.start;
		if (top > w->window.size || top < b->flags) {
			if (refill(w, cfa - b->flags, b->flags))
				break;
			top = b->flags;
		}
		w->window.top = top;
		pc = below(w, 8);
		if (pc == 0)
			break;
		if (b->what)
			r.fp = below(w, b->what);
		r.saved_fp |= b->what;
		r.saved_others |= b->saves;
		r.how = b->how;
		r.sp = cfa;
		r.addr = pc - 1;
		frames[i] = OW_SAMPLE_FRAME(pc, r.how, OW_FRAME_RETURN);
		r.hash = hash_more(r.hash, frames[i]);
		r.nr = i + 1;
		ret = RUN_ON;
	}
	if (r.nr)
		put_run(w, &r);
	return ret;
}

/* Which of the other registers a slot is, or NR_OTHERS. */
static __always_inline __u32 other_of(__u32 slot)
{
	return slot == SAVED1                   ? 0 :
	       slot >= SAVED2 && slot <= SAVED5 ? slot - SAVED2 + 1 :
						  NR_OTHERS;
}

/* One register that the rule saves, into b; false if b has no room for it. */
__noinline int put_save(struct brief *b, __u32 slot, __u32 words)
{
	__u32 which = other_of(slot);

	if (!b || words == 0 || words > SAVE_MASK)
		return 0;
	if (8 * words > b->flags)
		b->flags = 8 * words;
	if (slot == arch.ra && words == 1)
		b->saves |= HAS_RA;
	else if (slot == SAVED0)
		b->what = 8 * words;
	else if (which < NR_OTHERS)
		b->saves |= words << which * SAVE_BITS;
	else
		return 0;
	return 1;
}

/* Is the CFA one that run_briefs() finds, and above sp? */
static __always_inline bool is_usual(const struct ow_bpf_rule *r)
{
	return r->kind == OW_BPF_REG && !r->flags &&
	       r->base == OW_BPF_BASE_CFA && !(r->base_off & 7) &&
	       !(r->cfa_off & 7) &&
	       (r->cfa_reg == SAVED0 ||
		(r->cfa_reg == arch.sp && r->cfa_off > 0));
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
	if (!is_usual(r))
		return 0;
	b->saves = 0;
	b->what = 0;
	b->flags = 8;
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
	b->kind = r->cfa_reg == SAVED0 ? BRIEF_BY_FP : BRIEF_BY_SP;
	b->off = r->cfa_off;
	b->how = r->how;
	return 1;
}

/* One of the registers that the whole rule saves. */
static __always_inline void get_save(struct ow_bpf_rule *r, __u32 slot,
				     __u32 words)
{
	if (!words)
		return;
	r->saves[r->nr % OW_BPF_SAVES].slot = slot;
	r->saves[r->nr % OW_BPF_SAVES].word = r->depth - words;
	r->nr++;
}

/* The whole rule again. */
static __always_inline void get_step(struct walk *w, const struct brief *b)
{
	static const __u8 slots[] = { SAVED1, SAVED2, SAVED3, SAVED4, SAVED5 };
	struct ow_bpf_rule *r = &w->rule;
	__u32 i;

	r->kind = OW_BPF_REG;
	r->flags = 0;
	r->cfa_reg = b->kind == BRIEF_BY_FP ? SAVED0 : arch.sp;
	r->cfa_off = b->off;
	r->base = OW_BPF_BASE_CFA;
	r->depth = b->flags / 8;
	r->base_off = -(__s32)b->flags;
	r->how = b->how;
	r->nr = 0;
	get_save(r, arch.ra, 1);
	get_save(r, SAVED0, b->what / 8);
	for (i = 0; i < NR_OTHERS; i++)
		get_save(r, slots[i], b->saves >> i * SAVE_BITS & SAVE_MASK);
}

/* Room for a brief of addr: the oldest one's. */
static __always_inline struct brief *new_brief(struct walk *w, __u64 addr)
{
	__u32 at = w->newest + 1 < BRIEFS ? w->newest + 1 : 1;
	struct place *p = places_of(w, addr);
	struct brief *b = brief_at(w, at);

	w->newest = at;
	p->of[1] = p->of[0];
	p->of[0] = at;
	b->addr = addr;
	b->image = w->process.image;
	b->next = at + 1;
	came_to(w, at);
	return b;
}

/* A rule of which no more than its kind, flags and how is needed. */
static __always_inline bool is_bare(const struct ow_bpf_rule *r)
{
	return r->kind == OW_BPF_NONE || r->kind == OW_BPF_ESCAPE ||
	       r->kind == OW_BPF_SIGNAL || r->flags & OW_BPF_RULE_OUTERMOST;
}

/* One where a stack ends whatever there is in memory. */
static __always_inline bool is_base(const struct ow_bpf_rule *r)
{
	return r->flags == OW_BPF_RULE_OUTERMOST && r->kind != OW_BPF_NONE &&
	       r->kind != OW_BPF_ESCAPE;
}

/* Remember the rule that was found by w->lookup. */
static __always_inline void put_brief(struct walk *w, __u64 addr)
{
	const struct ow_bpf_rule *r = &w->rule;
	struct brief *b = new_brief(w, addr);

	if (put_step(w, b))
		return;
	b->flags = r->flags;
	b->how = r->how;
	if (is_bare(r)) {
		b->kind = is_base(r) ? BRIEF_BASE : BRIEF_BARE;
		b->what = r->kind;
		return;
	}
	b->kind = BRIEF_ROW;
	b->off = (__s32)w->lookup.at;
	b->saves = w->lookup.number;
	b->what = w->lookup.in_list;
}

/* Into w->rule what is known of addr; false if nothing is. */
__noinline int get_brief(struct walk *w, __u64 addr)
{
	const struct brief *b;

	if (!w)
		return 0;
	b = next_brief(w, addr);
	if (!b)
		return 0;
	if (b->kind == BRIEF_BY_SP || b->kind == BRIEF_BY_FP) {
		get_step(w, b);
		return 1;
	}
	if (b->kind == BRIEF_BARE || b->kind == BRIEF_BASE) {
		w->rule.kind = b->what;
		w->rule.flags = b->flags;
		w->rule.how = b->how;
		return 1;
	}
	w->lookup.number = b->saves;
	w->lookup.at = (__u32)b->off;
	w->lookup.in_list = b->what;
	if (load_rule(&w->lookup))
		return 0;
	w->rule = w->lookup.rule;
	w->rule.flags = b->flags;
	return 1;
}

#endif /* OW_BPF_BRIEF_H */
