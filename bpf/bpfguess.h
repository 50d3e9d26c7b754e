/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Callers that a guess led to: by a frame pointer, or by an sp that one told.  As
 * core/walk.c and core/fallback.c have them.
 */
#ifndef OW_BPF_GUESS_H
#define OW_BPF_GUESS_H

#include "bpffind.h"
#include "x86code.h"

/* Return true if w->rule finds the caller by a guess. */
static __always_inline bool is_guess(const struct walk *w, __u32 sp)
{
	if (w->rule.kind == OW_BPF_FP || w->rule.kind == OW_BPF_CALL)
		return true;
	return w->guessed &&
	       ((w->rule.kind != OW_BPF_REG && w->rule.kind != OW_BPF_AT_REG) ||
		w->rule.cfa_reg == sp);
}

/* ow_x86_calls() in a place of its own, for the verifier to look at once. */
__noinline int ends_with_call(__u64 code)
{
	return ow_x86_calls(code);
}

/* Return 1 if a call ends at pc, or if the code can't be read, or 0. */
__noinline int follows_call(struct walk *w, __u64 pc)
{
	__u64 code = 0, size = OW_X86_CODE_SIZE;

	if (!w)
		return 0;
	/* What lies in front of a mapping is none of its code. */
	if (pc % PAGE_BYTES < OW_X86_CODE_SIZE && find_range(w, pc - 1) &&
	    pc - w->range.start < OW_X86_CODE_SIZE)
		size = (pc - w->range.start) % OW_X86_CODE_SIZE;
	if (bpf_probe_read_user(&code, size, (void *)(pc - size)))
		return 1;
	return ends_with_call(code << 8 * (OW_X86_CODE_SIZE - size));
}

/* Return true if something can run at addr. */
static __always_inline bool is_code(struct walk *w, __u64 addr)
{
	return find_brief(w, addr) || find_range(w, addr);
}

/* Note whether the caller at pc tells a wrong sp; return where there is to be code. */
static __always_inline __u64 note_guess(struct walk *w, __u64 pc)
{
	bool by_signal = w->rule.flags & OW_BPF_RULE_SIGNAL;

	w->guessed = !by_signal && w->rule.kind != OW_BPF_CALL;
	return by_signal ? pc : pc - 1;
}

/* Return true if no call has to end at the caller's pc; fp is its frame pointer. */
static __always_inline bool needs_no_call(const struct walk *w, __u64 fp)
{
	return w->rule.flags & OW_BPF_RULE_SIGNAL ||
	       (w->rule.kind == OW_BPF_FP && fp == 0);
}

/*
 * The caller at pc, whose frame pointer is fp, was found by a guess; w->guessed is
 * noted.  An end, if it can't be one; or 0.
 */
__noinline int check_guess(struct walk *w, __u64 pc, __u64 fp)
{
	if (!w || !is_code(w, note_guess(w, pc)))
		return OW_END_NO_CFI;
	if (needs_no_call(w, fp))
		return 0;
	return follows_call(w, pc) || trampoline_at(pc) ? 0 : OW_END_NO_CFI;
}

#endif /* OW_BPF_GUESS_H */
