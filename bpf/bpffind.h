/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Finding the rule of a frame, by its table or what comes in that's place. */
#ifndef OW_BPF_FIND_H
#define OW_BPF_FIND_H

#include "bpfbrief.h"

#define START_SIZE 64  /* bytes of the code at a program's entry point */
#define SIGNAL_CS  184 /* in a signal frame, from sp */
#define USER_CS    0x33

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

/* Is the code at pc what a signal handler returns to?  Its size, or 0. */
__noinline int trampoline_at(__u64 pc)
{
	__u64 code = 0;

	/* mov $15,%rax; syscall, and what clang and hand-written code have */
	if (bpf_probe_read_user(&code, 7, (void *)pc))
		return 0;
	if (code == 0x050f0000000fb8ULL)
		return 7;
	if (code != 0x0000000fc0c748ULL)
		return 0;
	code = 0;
	if (bpf_probe_read_user(&code, 2, (void *)(pc + 7)) || code != 0x050f)
		return 0;
	return 9;
}

/* Is a signal frame at sp?  By what the kernel stores as cs. */
static __always_inline bool has_mark(const struct walk *w)
{
	__u64 cs;

	return !read_word(reg_of(w, arch.sp) + SIGNAL_CS, &cs) &&
	       (cs & 0xffff) == USER_CS;
}

/* Does a handler return here, or is it just returning? */
__noinline int is_trampoline(struct walk *w)
{
	__u64 pc;

	if (!w)
		return 0;
	pc = reg_of(w, arch.pc);
	if (trampoline_at(pc))
		return 1;
	return !(w->flags & OW_FRAME_RETURN) && has_mark(w) &&
	       (trampoline_at(pc - 9) == 9 || trampoline_at(pc - 7) == 7);
}

static __always_inline void signal_rule(struct walk *w)
{
	w->rule.kind = OW_BPF_SIGNAL;
	w->rule.flags = OW_BPF_RULE_SIGNAL;
	w->rule.how = OW_HOW_SIGNAL;
}

/* Is a frame pointer of zero to be believed?  As core/walk.c has it. */
static __always_inline bool is_outermost(struct walk *w, __u64 addr, __u64 pc)
{
	struct ow_bpf_object *o;
	__u32 n;

	if (w->how == OW_HOW_FP)
		return true;
	if (!(w->flags & OW_FRAME_RETURN) || !find_range(w, addr))
		return false;
	n = w->range.object;
	o = n ? bpf_map_lookup_elem(&objects, &n) : NULL;
	return o && o->entry && pc - w->range.bias - o->entry < START_SIZE;
}

/* No code is there: a call to nowhere, if it is innermost. */
static __always_inline int nowhere(struct walk *w)
{
	if (w->flags & OW_FRAME_RETURN)
		return OW_END_NO_MODULE;
	w->rule.kind = OW_BPF_CALL;
	w->rule.flags = 0;
	w->rule.how = OW_HOW_CALL;
	return 0;
}

/* No CFI: a signal's trampoline, or the frame pointer. */
__noinline int fallback(struct walk *w, __u64 addr)
{
	__u64 fp;

	if (!w)
		return OW_END_NO_CFI;
	fp = reg_of(w, arch.fp);
	w->rule.flags = 0;
	if (is_trampoline(w)) {
		signal_rule(w);
		return 0;
	}
	w->rule.kind = OW_BPF_FP;
	w->rule.how = OW_HOW_FP;
	if (!is_known(w, arch.fp))
		return OW_END_UNKNOWN;
	if (fp == 0 && is_outermost(w, addr, reg_of(w, arch.pc)))
		w->rule.flags = OW_BPF_RULE_OUTERMOST;
	else if (fp == 0 || fp % 8 ||
		 (is_known(w, arch.sp) && fp < reg_of(w, arch.sp)))
		return OW_END_NO_CFI;
	return 0;
}

/*
 * What the table of the range's object has for code with addresses of so many
 * bytes, into w->rule; or an end.
 */
static __always_inline int look_up(struct walk *w, __u64 addr, __u32 word)
{
	int failed;

	w->rule.kind = OW_BPF_NONE;
	w->rule.flags = 0;
	w->lookup.is_late = 0;
	if (!w->range.object)
		return w->range.mapped == OW_BPF_NO_ROOM ? OW_END_NO_ROOM : 0;
	w->lookup.number = w->range.object;
	w->cold++;
	failed = find_rule(&w->lookup, addr - w->range.bias, w->now);
	w->evicted = failed > 0;
	if (failed)
		return failed > 0 ? OW_END_WANT : OW_END_BAD_RULE;
	if (w->lookup.rule.kind != OW_BPF_NONE && w->lookup.object.word == word)
		w->rule = w->lookup.rule;
	return 0;
}

/* The last byte of a function before nothing may be where a handler returns. */
static __always_inline bool is_behind_last(struct walk *w, __u64 addr)
{
	__u64 cs;

	return w->rule.flags & OW_BPF_RULE_LAST && addr != reg_of(w, arch.pc) &&
	       (read_word(reg_of(w, arch.sp) + SIGNAL_CS, &cs) ||
		(cs & 0xffff) == USER_CS) &&
	       is_trampoline(w);
}

/* The rule of the frame whose code is at addr, into w->rule; or an end. */
static __always_inline int get_rule(struct walk *w, __u64 addr)
{
	int end;

	if (!get_brief(w, addr)) {
		if (!find_range(w, addr))
			return nowhere(w);
		end = look_up(w, addr, 8);
		if (end)
			return end;
		if (!w->lookup.is_late)
			put_brief(w, addr);
	}
	if (w->rule.kind == OW_BPF_NONE)
		return fallback(w, addr);
	if (w->rule.kind == OW_BPF_ESCAPE && !is_trampoline(w))
		return OW_END_UNSUPPORTED;
	if (w->rule.kind == OW_BPF_ESCAPE || is_behind_last(w, addr))
		signal_rule(w);
	return 0;
}

#endif /* OW_BPF_FIND_H */
