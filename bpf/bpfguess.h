/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Callers that a guess led to: by a frame pointer, or by an sp that one told.  As
 * core/walk.c and core/fallback.c have them.
 */
#ifndef OW_BPF_GUESS_H
#define OW_BPF_GUESS_H

#include "bpffind.h"

#define CALL_REL32 0xe8
#define GROUP5     0xff
#define CALL_RM    2 /* reg of ModRM */
#define CALL_SIZE  8 /* bytes that are read; the longest call has 7 */

/* Return true if w->rule finds the caller by a guess. */
static __always_inline bool is_guess(const struct walk *w, __u32 sp)
{
	if (w->rule.kind == OW_BPF_FP || w->rule.kind == OW_BPF_CALL)
		return true;
	return w->guessed &&
	       ((w->rule.kind != OW_BPF_REG && w->rule.kind != OW_BPF_AT_REG) ||
		w->rule.cfa_reg == sp);
}

/* Byte n of the code before what it was read for; zero where it wasn't read. */
static __always_inline __u32 byte_before(__u64 code, __u32 n)
{
	return code >> 8 * (CALL_SIZE - n) & 0xff;
}

/* The bytes of CALL r/m with that ModRM and SIB: core/x86call.c. */
static __always_inline __u32 call_size(__u32 modrm, __u32 sib)
{
	__u32 mod = modrm >> 6, rm = modrm & 7;
	__u32 size = mod != 3 && rm == 4 ? 3 : 2;

	if (mod == 1)
		return size + 1;
	if (mod == 2 || (mod == 0 && (rm == 5 || (rm == 4 && (sib & 7) == 5))))
		return size + 4;
	return size;
}

/* Return 1 if the code ends with a call, or 0. */
__noinline int ends_with_call(__u64 code)
{
	__u32 n, modrm;

	if (byte_before(code, 5) == CALL_REL32)
		return 1;
	for (n = 2; n < CALL_SIZE; n++) {
		modrm = byte_before(code, n - 1);
		if (byte_before(code, n) == GROUP5 &&
		    (modrm >> 3 & 7) == CALL_RM &&
		    call_size(modrm, n > 2 ? byte_before(code, n - 2) : 0) == n)
			return 1;
	}
	return 0;
}

/* Return 1 if a call ends at pc, or if the code can't be read, or 0. */
__noinline int follows_call(struct walk *w, __u64 pc)
{
	__u64 code = 0, size = CALL_SIZE;

	if (!w)
		return 0;
	/* What lies in front of a mapping is none of its code. */
	if (pc % PAGE_BYTES < CALL_SIZE && find_range(w, pc - 1) &&
	    pc - w->range.start < CALL_SIZE)
		size = (pc - w->range.start) % CALL_SIZE;
	if (bpf_probe_read_user(&code, size, (void *)(pc - size)))
		return 1;
	return ends_with_call(code << 8 * (CALL_SIZE - size));
}

/* Return true if something can run at addr. */
static __always_inline bool is_code(struct walk *w, __u64 addr)
{
	return find_brief(w, addr) || find_range(w, addr);
}

/*
 * The caller at pc, whose frame pointer is fp, was found by a guess; w->guessed is
 * noted.  An end, if it can't be one; or 0.
 */
__noinline int check_guess(struct walk *w, __u64 pc, __u64 fp)
{
	bool by_signal;

	if (!w)
		return OW_END_NO_CFI;
	by_signal = w->rule.flags & OW_BPF_RULE_SIGNAL;
	w->guessed = !by_signal && w->rule.kind != OW_BPF_CALL;
	if (!is_code(w, by_signal ? pc : pc - 1))
		return OW_END_NO_CFI;
	if (by_signal || (w->rule.kind == OW_BPF_FP && fp == 0))
		return 0;
	return follows_call(w, pc) || trampoline_at(pc) ? 0 : OW_END_NO_CFI;
}

#endif /* OW_BPF_GUESS_H */
