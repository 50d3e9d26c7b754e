/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Executing a rule: from a frame's registers to its caller's. */
#ifndef OW_BPF_STEP_H
#define OW_BPF_STEP_H

#include "bpfstate.h"

/* A signal frame of x86-64, as core/arch_x86_64.c describes it. */
#define SIGNAL_REGS 40 /* from sp to the first register */
#define SIGNAL_NR   17

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
	if (w->rule.kind != OW_BPF_AT_REG)
		return 0;
	if (read_word(at, ret))
		return OW_END_FAULT;
	*ret += (__s64)w->rule.cfa_add;
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
		word = w->rule.saves[i].word;
		if (word & OW_BPF_SAVE_AT_CFA)
			continue;
		word %= SLOTS;
		if (read_word(from + 8 * word, &w->area[word]))
			*saved &= ~(1ULL << w->rule.saves[i].slot % SLOTS);
	}
}

/*
 * Put the registers that were loaded, and load those that lie at the CFA, in which
 * *saved keeps only what could be read.
 */
static __always_inline void put_saved(struct walk *w, __u64 cfa, __u64 *saved)
{
	__u32 i, slot, word;

	for (i = 0; i < OW_BPF_SAVES; i++) {
		if (i >= w->rule.nr)
			break;
		slot = w->rule.saves[i].slot % SLOTS;
		word = w->rule.saves[i].word;
		if (!(*saved >> slot & 1))
			continue;
		if (!(word & OW_BPF_SAVE_AT_CFA))
			w->reg[slot] = w->area[word % SLOTS];
		else if (read_word(cfa - 8 * (word & OW_BPF_SAVE_DEPTH),
				   &w->reg[slot]))
			*saved &= ~(1ULL << slot);
	}
}

/* Execute a rule of a table. */
__noinline int step_by_rule(struct walk *w)
{
	__u64 cfa, from, saved = 0, all, size, ra = 0;
	bool in_reg;
	__u32 i;
	int end;

	if (!w)
		return OW_END_BAD_RULE;
	end = find_cfa(w, &cfa);
	if (end)
		return end;
	in_reg = w->rule.flags & OW_BPF_RULE_IN_REG;
	if (in_reg && !is_known(w, w->rule.ra_reg))
		return OW_END_UNKNOWN;
	if (in_reg)
		ra = reg_of(w, w->rule.ra_reg);
	from = w->rule.base == OW_BPF_BASE_CFA ? cfa : reg_of(w, w->rule.base);
	if (w->rule.base != OW_BPF_BASE_CFA && !is_known(w, w->rule.base))
		return OW_END_UNKNOWN;
	from += (__s64)w->rule.base_off;
	for (i = 0; i < OW_BPF_SAVES; i++) {
		if (i >= w->rule.nr)
			break;
		saved |= 1ULL << w->rule.saves[i].slot % SLOTS;
	}
	all = saved;
	size = 8 * (w->rule.depth & OW_BPF_MAX_DEPTH);
	if (size && bpf_probe_read_user(w->area, size, (void *)from))
		load_piecewise(w, from, &saved);
	put_saved(w, cfa, &saved);
	if (in_reg) {
		w->reg[arch.ra % SLOTS] = ra;
		saved |= 1ULL << arch.ra % SLOTS;
	}
	if (!(saved >> arch.ra % SLOTS & 1))
		return all >> arch.ra % SLOTS & 1 ? OW_END_FAULT :
						    OW_END_UNKNOWN;
	w->reg[arch.sp % SLOTS] = cfa;
	w->reg[arch.pc % SLOTS] = w->reg[arch.ra % SLOTS];
	w->known = (w->known & arch.callee_saved & ~all) | saved |
		   1ULL << arch.sp % SLOTS | 1ULL << arch.pc % SLOTS;
	return 0;
}

/* Slots of a signal frame's registers, in its order. */
static const __u8 signal_slots[SIGNAL_NR] = { 8, 9, 10, 11, 12, 13, 14, 15, 5,
					      4, 6, 3,  1,  0,  2,  7,  16 };

__noinline int step_by_signal(struct walk *w)
{
	__u64 from;
	__u32 i;

	if (!w)
		return OW_END_BAD_RULE;
	w->known = (1ULL << SIGNAL_NR) - 1;
	from = reg_of(w, arch.sp) + SIGNAL_REGS;
	if (bpf_probe_read_user(w->area, 8 * SIGNAL_NR, (void *)from)) {
		for (i = 0; i < SIGNAL_NR; i++)
			if (read_word(from + 8 * i, &w->area[i]))
				w->known &= ~(1ULL << signal_slots[i] % SLOTS);
		if (!is_known(w, arch.pc))
			return OW_END_FAULT;
	}
	for (i = 0; i < SIGNAL_NR; i++)
		w->reg[signal_slots[i] % SLOTS] = w->area[i];
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

static __always_inline int execute(struct walk *w)
{
	if (w->rule.kind == OW_BPF_SIGNAL)
		return step_by_signal(w);
	if (w->rule.kind == OW_BPF_FP || w->rule.kind == OW_BPF_CALL)
		return step_by_guess(w);
	return step_by_rule(w);
}

#endif /* OW_BPF_STEP_H */
