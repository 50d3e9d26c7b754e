/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Walking a program's stack in the kernel: the same frames and the same ends
 * as core/walk.c gives.
 */
#ifndef OW_BPF_WALK_H
#define OW_BPF_WALK_H

#include "bpflookup.h"

#define SLOTS      32 /* of registers; a power of two */
#define CACHE_SIZE 4096
#define FRAMES     2048 /* room; a power of two */
#define START_SIZE 64   /* bytes of the code at a program's entry point */

/* A signal frame of x86-64, as core/arch_x86_64.c describes it. */
#define SIGNAL_REGS 40 /* from sp to the first register */
#define SIGNAL_NR   17
#define SIGNAL_SP   15 /* which of them is sp, */
#define SIGNAL_PC   16 /* and pc */
#define SIGNAL_CS   184
#define USER_CS     0x33

struct walk {
	__u64 reg[SLOTS];
	__u64 known;
	__u64 hash;
	__u64 mark_pc, mark_sp;
	struct ow_bpf_process process;
	struct ow_bpf_range range; /* that was found last */
	struct ow_bpf_rule rule;
	__u64 area[SLOTS];
	__u32 slot;      /* which of the programs walks: of the cache */
	__u32 nr_kernel; /* frames of the kernel, which come first */
	__u32 nr, max;   /* frames of the program */
	__u32 mark_at;
	__u32 cold;
	__u8 end;        /* enum ow_end */
	__u8 flags, how; /* of the last frame */
	__u8 evicted;    /* end is because range.object's table is gone */
	__u8 copied;     /* it left as a copy */
	struct lookup lookup;
	struct ow_bpf_stack out; /* and right behind it: */
	__u64 frames[FRAMES];
};

struct cached {
	__u64 addr;
	__u32 image;
	__u32 reserved;
	struct ow_bpf_rule rule;
};

/* One cache for each of the programs that may interrupt each other. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 3 * CACHE_SIZE);
	__type(key, __u32);
	__type(value, struct cached);
} cache SEC(".maps");

static __always_inline bool is_known(const struct walk *w, __u32 slot)
{
	return w->known >> (slot % SLOTS) & 1;
}

static __always_inline __u64 reg_of(const struct walk *w, __u32 slot)
{
	return w->reg[slot % SLOTS];
}

static __always_inline int read_word(__u64 addr, __u64 *ret)
{
	return bpf_probe_read_user(ret, sizeof(*ret), (void *)addr) ? -1 : 0;
}

static __always_inline void push_frame(struct walk *w, __u8 how, __u8 flags)
{
	__u64 f = OW_SAMPLE_FRAME(reg_of(w, arch.pc), how, flags);

	w->frames[(w->nr_kernel + w->nr) % FRAMES] = f;
	w->nr++;
	w->how = how;
	w->flags = flags;
	w->hash = (w->hash ^ f) * 0x9e3779b97f4a7c15ULL;
	w->hash ^= w->hash >> 29;
}

/* The range that holds addr, into w->range; false if none does. */
__noinline int find_range(struct walk *w, __u64 addr)
{
	__u32 low = 0, high, mid, i, at;
	struct ow_bpf_range *r;

	if (!w)
		return 0;
	if (addr - w->range.start < w->range.end - w->range.start)
		return 1;
	high = w->process.nr;
	for (i = 0; i < MOST_STEPS && low < high; i++) {
		mid = low + (high - low) / 2;
		at = w->process.first + mid;
		r = bpf_map_lookup_elem(&ranges, &at);
		if (!r)
			return 0;
		if (addr < r->start) {
			high = mid;
		} else if (addr >= r->end) {
			low = mid + 1;
		} else {
			w->range = *r;
			return 1;
		}
	}
	return 0;
}

static __always_inline struct cached *cached_at(const struct walk *w,
						__u64 addr)
{
	__u64 hash =
		(addr ^ (__u64)w->process.image << 40) * 0x9e3779b97f4a7c15ULL;
	__u32 i = w->slot * CACHE_SIZE + (__u32)(hash >> 40) % CACHE_SIZE;

	return bpf_map_lookup_elem(&cache, &i);
}

/* Is the code at pc what a signal handler returns to? */
static __always_inline bool is_trampoline(struct walk *w)
{
	__u64 pc = reg_of(w, arch.pc), code = 0;

	/* mov $15,%rax; syscall, and what clang and hand-written code have */
	if (bpf_probe_read_user(&code, 7, (void *)pc))
		return false;
	if (code == 0x050f0000000fb8ULL)
		return true;
	if (code != 0x0000000fc0c748ULL)
		return false;
	code = 0;
	return !bpf_probe_read_user(&code, 2, (void *)(pc + 7)) &&
	       code == 0x050f;
}

static __always_inline void signal_rule(struct walk *w)
{
	w->rule.kind = OW_BPF_SIGNAL;
	w->rule.flags = OW_BPF_RULE_SIGNAL;
	w->rule.how = OW_HOW_SIGNAL;
}

static __always_inline bool is_outermost(const struct walk *w)
{
	__u32 n = w->range.object;
	struct ow_bpf_object *o;

	if (w->how == OW_HOW_FP)
		return true;
	o = n ? bpf_map_lookup_elem(&objects, &n) : NULL;
	return o && o->entry && w->flags & OW_FRAME_RETURN &&
	       reg_of(w, arch.pc) - w->range.bias - o->entry < START_SIZE;
}

/* No CFI: a signal's trampoline, a call to nowhere, or the frame pointer. */
__noinline int fallback(struct walk *w, int has_range)
{
	__u64 fp;

	if (!w)
		return OW_END_NO_CFI;
	fp = reg_of(w, arch.fp);
	w->rule.flags = 0;
	if (has_range && is_trampoline(w)) {
		signal_rule(w);
		return 0;
	}
	if (!has_range) {
		if (w->flags & OW_FRAME_RETURN)
			return OW_END_NO_MODULE;
		w->rule.kind = OW_BPF_CALL;
		w->rule.how = OW_HOW_CALL;
		return 0;
	}
	w->rule.kind = OW_BPF_FP;
	w->rule.how = OW_HOW_FP;
	if (!is_known(w, arch.fp))
		return OW_END_UNKNOWN;
	if (fp == 0 && is_outermost(w))
		w->rule.flags = OW_BPF_RULE_OUTERMOST;
	else if (fp == 0 || fp % 8 ||
		 (is_known(w, arch.sp) && fp < reg_of(w, arch.sp)))
		return OW_END_NO_CFI;
	return 0;
}

/* The rule at addr by the object's table, into w->rule; or an end. */
static __always_inline int look_up(struct walk *w, __u64 addr, bool has_range)
{
	__u64 cs;
	int failed;

	w->rule.kind = OW_BPF_NONE;
	w->rule.flags = 0;
	if (has_range && w->range.object) {
		w->lookup.number = w->range.object;
		w->cold++;
		failed = find_rule(&w->lookup, addr - w->range.bias);
		if (failed) {
			w->evicted = failed > 0;
			return failed > 0 ? OW_END_WANT : OW_END_BAD_RULE;
		}
		w->rule = w->lookup.rule;
	}
	if (w->rule.kind == OW_BPF_NONE)
		return fallback(w, has_range);
	if (w->rule.kind == OW_BPF_ESCAPE && !is_trampoline(w))
		return OW_END_UNSUPPORTED;
	if (w->rule.kind == OW_BPF_ESCAPE)
		signal_rule(w);
	if (w->rule.flags & OW_BPF_RULE_LAST && addr != reg_of(w, arch.pc) &&
	    (read_word(reg_of(w, arch.sp) + SIGNAL_CS, &cs) ||
	     (cs & 0xffff) == USER_CS) &&
	    is_trampoline(w))
		signal_rule(w);
	return 0;
}

/* The same, from the cache if it is there. */
static __always_inline int get_rule(struct walk *w, __u64 addr)
{
	struct cached *c = cached_at(w, addr);
	int end, has_range;

	if (c && c->addr == addr && c->image == w->process.image) {
		w->rule = c->rule;
		return 0;
	}
	has_range = find_range(w, addr);
	end = look_up(w, addr, has_range);
	if (end == OW_END_NO_CFI && !has_range)
		return OW_END_NO_MODULE;
	if (end)
		return end;
	if (c && w->rule.kind <= OW_BPF_PLT &&
	    !(w->rule.flags & OW_BPF_RULE_LAST)) {
		c->rule = w->rule;
		c->image = w->process.image;
		c->addr = addr;
	}
	return 0;
}

static __always_inline int find_cfa(const struct walk *w, __u64 *ret)
{
	__u64 sp = reg_of(w, arch.sp), at;

	if (w->rule.kind == OW_BPF_PLT) {
		*ret = sp + 8 +
		       ((reg_of(w, arch.pc) & 15) >= w->rule.pushed) * 8ULL;
		return 0;
	}
	if (!is_known(w, w->rule.cfa_reg))
		return OW_END_UNKNOWN;
	at = reg_of(w, w->rule.cfa_reg) + (__s64)w->rule.cfa_off;
	*ret = at;
	if (w->rule.kind == OW_BPF_AT_REG && read_word(at, ret))
		return OW_END_FAULT;
	return 0;
}

/* Word by word, where not all of a frame's area can be read. */
static __always_inline void load_piecewise(struct walk *w, __u64 from,
					   __u64 *saved)
{
	__u32 i, word;

	for (i = 0; i < OW_BPF_SAVES; i++) {
		if (i >= w->rule.nr)
			break;
		word = w->rule.saves[i].word % SLOTS;
		if (read_word(from + 8 * word, &w->area[word]))
			*saved &= ~(1ULL << w->rule.saves[i].slot % SLOTS);
	}
}

/* Execute a rule of a table. */
__noinline int step_by_rule(struct walk *w)
{
	__u64 cfa, from, saved = 0, known, size, ra = 0;
	__u32 i, slot;
	int end;

	if (!w)
		return OW_END_BAD_RULE;
	end = find_cfa(w, &cfa);
	if (end)
		return end;
	from = w->rule.base == OW_BPF_BASE_CFA ? cfa : reg_of(w, w->rule.base);
	if (w->rule.base != OW_BPF_BASE_CFA && !is_known(w, w->rule.base))
		return OW_END_UNKNOWN;
	from += (__s64)w->rule.base_off;
	for (i = 0; i < OW_BPF_SAVES; i++) {
		if (i >= w->rule.nr)
			break;
		saved |= 1ULL << w->rule.saves[i].slot % SLOTS;
	}
	known = w->known & arch.callee_saved;
	size = 8 * (w->rule.depth & OW_BPF_MAX_DEPTH);
	if (size && bpf_probe_read_user(w->area, size, (void *)from)) {
		known &= ~saved;
		load_piecewise(w, from, &saved);
		if (!(w->rule.flags & OW_BPF_RULE_RA) &&
		    !(saved >> arch.ra % SLOTS & 1))
			return OW_END_FAULT;
	}
	if (w->rule.flags & OW_BPF_RULE_RA) {
		if (read_word(cfa - 8, &ra))
			return OW_END_FAULT;
		saved |= 1ULL << arch.ra % SLOTS;
	}
	known |= saved;
	if (!(known >> arch.ra % SLOTS & 1))
		return OW_END_UNKNOWN;
	for (i = 0; i < OW_BPF_SAVES; i++) {
		if (i >= w->rule.nr)
			break;
		slot = w->rule.saves[i].slot % SLOTS;
		if (saved >> slot & 1)
			w->reg[slot] = w->area[w->rule.saves[i].word % SLOTS];
	}
	if (w->rule.flags & OW_BPF_RULE_RA)
		w->reg[arch.ra % SLOTS] = ra;
	w->reg[arch.sp % SLOTS] = cfa;
	w->reg[arch.pc % SLOTS] = w->reg[arch.ra % SLOTS];
	w->known = known | 1ULL << arch.sp % SLOTS | 1ULL << arch.pc % SLOTS;
	return 0;
}

/* Slots of a signal frame's registers, in its order. */
static const __u8 signal_slots[SIGNAL_NR] = { 8, 9, 10, 11, 12, 13, 14, 15, 5,
					      4, 6, 3,  1,  0,  2,  7,  16 };

__noinline int step_by_signal(struct walk *w)
{
	__u32 i;

	if (!w)
		return OW_END_BAD_RULE;
	if (bpf_probe_read_user(w->area, 8 * SIGNAL_NR,
				(void *)(reg_of(w, arch.sp) + SIGNAL_REGS)))
		return OW_END_FAULT;
	for (i = 0; i < SIGNAL_NR; i++)
		w->reg[signal_slots[i] % SLOTS] = w->area[i];
	w->known = (1ULL << SIGNAL_NR) - 1;
	return 0;
}

/* By a frame pointer, or as after a call to where no code is. */
__noinline int step_by_guess(struct walk *w)
{
	__u64 fp, record[2];
	bool by_fp;

	if (!w)
		return OW_END_BAD_RULE;
	by_fp = w->rule.kind == OW_BPF_FP;
	fp = reg_of(w, arch.fp);
	if (by_fp) {
		if (bpf_probe_read_user(record, sizeof(record), (void *)fp))
			return OW_END_FAULT;
		w->reg[arch.fp % SLOTS] = record[0];
		w->reg[arch.pc % SLOTS] = record[1];
		w->reg[arch.sp % SLOTS] = fp + sizeof(record);
		w->known &= arch.callee_saved;
	} else {
		if (read_word(reg_of(w, arch.sp), &record[0]))
			return OW_END_FAULT;
		w->reg[arch.pc % SLOTS] = record[0];
		w->reg[arch.sp % SLOTS] += 8;
		w->known &= arch.callee_saved;
	}
	w->known |= 1ULL << arch.sp % SLOTS | 1ULL << arch.pc % SLOTS;
	return 0;
}

/* Did the step come nearer to the stack's base?  As core/walk.c has it. */
static __always_inline bool progressed(struct walk *w, __u64 old_pc,
				       __u64 old_sp, bool was_return)
{
	__u64 pc = reg_of(w, arch.pc), sp = reg_of(w, arch.sp);

	if (w->rule.flags & OW_BPF_RULE_SIGNAL) {
		if (pc == w->mark_pc && sp == w->mark_sp && w->mark_at)
			return false;
		if (w->nr >= 2 * w->mark_at) {
			w->mark_at = w->nr;
			w->mark_pc = pc;
			w->mark_sp = sp;
		}
		return pc != old_pc || sp != old_sp;
	}
	return sp > old_sp || (sp == old_sp && !was_return && pc != old_pc);
}

/* The frame that was pushed last ran behind a handler. */
static __always_inline void mark_signal(struct walk *w)
{
	__u32 at = (w->nr_kernel + w->nr - 1) % FRAMES;

	w->frames[at] |= (__u64)OW_FRAME_SIGNAL << 56;
}

static __always_inline int execute(struct walk *w)
{
	if (w->rule.kind == OW_BPF_SIGNAL)
		return step_by_signal(w);
	if (w->rule.kind == OW_BPF_FP || w->rule.kind == OW_BPF_CALL)
		return step_by_guess(w);
	return step_by_rule(w);
}

/* One frame further; an end (enum ow_end), or 0 to go on. */
__noinline int walk_step(struct walk *w)
{
	__u64 old_pc, old_sp, pc;
	bool was_return, by_signal;
	int end;

	if (!w)
		return OW_END_BAD_RULE;
	if (w->nr >= w->max)
		return OW_END_LIMIT;
	was_return = w->flags & OW_FRAME_RETURN;
	old_pc = reg_of(w, arch.pc);
	old_sp = reg_of(w, arch.sp);
	end = get_rule(w, old_pc - was_return);
	if (end)
		return end;
	by_signal = w->rule.flags & OW_BPF_RULE_SIGNAL;
	if (by_signal)
		mark_signal(w);
	if (w->rule.flags & OW_BPF_RULE_OUTERMOST)
		return OW_END_OUTERMOST;
	end = execute(w);
	if (end)
		return end;
	pc = reg_of(w, arch.pc);
	if (pc == 0 && !by_signal)
		return OW_END_OUTERMOST;
	if (!progressed(w, old_pc, old_sp, was_return))
		return OW_END_CYCLE;
	if (w->rule.kind == OW_BPF_FP || w->rule.kind == OW_BPF_CALL) {
		if (!find_range(w, pc - 1))
			return OW_END_NO_CFI;
		if (w->rule.kind == OW_BPF_FP)
			w->known &= 1ULL << arch.fp % SLOTS |
				    1ULL << arch.sp % SLOTS |
				    1ULL << arch.pc % SLOTS;
	}
	push_frame(w, w->rule.how, by_signal ? 0 : OW_FRAME_RETURN);
	return 0;
}

/*
 * All frames of a program whose registers are in w->reg.  A bounded loop around
 * a function that is verified by itself: nothing newer than Linux 5.13.
 */
static __always_inline void walk_run(struct walk *w)
{
	int end = 0, i;

	w->nr = 0;
	w->mark_at = 0;
	w->cold = 0;
	w->evicted = 0;
	w->range.start = w->range.end = 0;
	if (w->max == 0) {
		w->end = OW_END_LIMIT;
		return;
	}
	push_frame(w, OW_HOW_REGS, 0);
	for (i = 0; i < OW_BPF_FRAMES; i++) {
		end = walk_step(w);
		if (end)
			break;
	}
	w->end = end ? end : OW_END_LIMIT;
}

#endif /* OW_BPF_WALK_H */
