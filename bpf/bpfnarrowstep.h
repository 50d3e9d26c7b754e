/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Registers of 32-bit programs, by core/arch_i386.c, and rules executed on them:
 * as bpfstep.h, but by words of 4 bytes.
 */
#ifndef OW_BPF_NARROWSTEP_H
#define OW_BPF_NARROWSTEP_H

#include "bpfkernel.h"
#include "bpfstep.h"

#define USER32_CS 0x23
#define NARROW    0xff /* no enum ow_end */

enum {
	EAX,
	ECX,
	EDX,
	EBX,
	ESP,
	EBP,
	ESI,
	EDI,
	EIP,
	NR_NARROW
};

#define BIT(n)       (1ULL << (n))
#define NARROW_SAVED (BIT(EBX) | BIT(ESP) | BIT(EBP) | BIT(ESI) | BIT(EDI))

/* From esp at a trampoline to edi, as core/arch_i386.c has signal frames. */
#define OLD_REGS    20
#define POPPED_REGS 16
#define RT_REGS     176
#define REGS_CS     44 /* from there */
#define REGS_NR     11 /* words from edi to eip */

static __always_inline void order_narrow(__u64 *reg, const struct user_regs *r)
{
	reg[EAX] = (__u32)r->ax;
	reg[ECX] = (__u32)r->cx;
	reg[EDX] = (__u32)r->dx;
	reg[EBX] = (__u32)r->bx;
	reg[ESP] = (__u32)r->sp;
	reg[EBP] = (__u32)r->bp;
	reg[ESI] = (__u32)r->si;
	reg[EDI] = (__u32)r->di;
	reg[EIP] = (__u32)r->ip;
}

/* The registers of a 32-bit program, if it is one. */
static __always_inline int put_narrow(struct walk *w, const struct user_regs *r)
{
	if (r->cs != USER32_CS)
		return OW_END_UNSUPPORTED;
	order_narrow(w->reg, r);
	w->known = BIT(NR_NARROW) - 1;
	return NARROW;
}

static __always_inline int read_narrow(__u64 addr, __u64 *ret)
{
	__u32 word;

	if (bpf_probe_read_user(&word, sizeof(word),
				(void *)(__u64)(__u32)addr))
		return -1;
	*ret = word;
	return 0;
}

static __always_inline int narrow_cfa(const struct walk *w, __u64 *ret)
{
	__u64 at;

	if (w->rule.kind == OW_BPF_PLT) {
		at = (w->reg[EIP] & 15) >= w->rule.pushed;
		*ret = (__u32)(w->reg[ESP] + 4 + 4 * at);
		return 0;
	}
	if (!is_known(w, w->rule.cfa_reg))
		return OW_END_UNKNOWN;
	at = (__u32)(reg_of(w, w->rule.cfa_reg) + (__s64)w->rule.cfa_off);
	*ret = at;
	if (w->rule.kind != OW_BPF_AT_REG)
		return 0;
	if (read_narrow(at, ret))
		return OW_END_FAULT;
	*ret = (__u32)(*ret + (__s64)w->rule.cfa_add);
	return 0;
}

/* Where the rule's area begins, or an end. */
static __always_inline int narrow_area(const struct walk *w, __u64 cfa,
				       __u64 *ret)
{
	if (w->rule.base == OW_BPF_BASE_CFA)
		*ret = cfa;
	else if (is_known(w, w->rule.base))
		*ret = reg_of(w, w->rule.base);
	else
		return OW_END_UNKNOWN;
	*ret = (__u32)(*ret + (__s64)w->rule.base_off);
	return 0;
}

/* Load the registers that are saved; which of them could be read. */
static __always_inline __u64 narrow_load(struct walk *w, __u64 cfa, __u64 from)
{
	__u64 saved = 0, at;
	__u32 i, word;

	for (i = 0; i < OW_BPF_SAVES; i++) {
		if (i >= w->rule.nr)
			break;
		word = w->rule.saves[i].word;
		at = word & OW_BPF_SAVE_AT_CFA ?
			     cfa - 4 * (word & OW_BPF_SAVE_DEPTH) :
			     from + 4 * word;
		if (!read_narrow(at, &w->area[i % SLOTS]))
			saved |= BIT(w->rule.saves[i].slot % SLOTS);
	}
	return saved;
}

/* Is the register among what the rule loads? */
static __always_inline bool loads(const struct walk *w, __u32 slot)
{
	__u32 i;

	for (i = 0; i < OW_BPF_SAVES; i++) {
		if (i >= w->rule.nr)
			break;
		if (w->rule.saves[i].slot == slot)
			return true;
	}
	return false;
}

__noinline int narrow_by_rule(struct walk *w)
{
	__u64 cfa, from, saved, ra = 0;
	__u32 i, slot;
	int end;

	if (!w)
		return OW_END_BAD_RULE;
	end = narrow_cfa(w, &cfa);
	if (!end)
		end = narrow_area(w, cfa, &from);
	if (end)
		return end;
	saved = narrow_load(w, cfa, from);
	if (w->rule.flags & OW_BPF_RULE_IN_REG) {
		ra = reg_of(w, w->rule.ra_reg);
		if (!is_known(w, w->rule.ra_reg))
			return OW_END_UNKNOWN;
	} else if (!(saved & BIT(EIP))) {
		return loads(w, EIP) ? OW_END_FAULT : OW_END_UNKNOWN;
	}
	if (!(saved & BIT(ESP)) && loads(w, ESP))
		return OW_END_FAULT;
	w->known = (w->known & NARROW_SAVED) | saved | BIT(ESP) | BIT(EIP);
	w->reg[ESP] = cfa;
	for (i = 0; i < OW_BPF_SAVES; i++) {
		if (i >= w->rule.nr)
			break;
		slot = w->rule.saves[i].slot % SLOTS;
		if (saved & BIT(slot))
			w->reg[slot] = w->area[i % SLOTS];
		else
			w->known &= ~BIT(slot);
	}
	if (w->rule.flags & OW_BPF_RULE_IN_REG)
		w->reg[EIP] = ra;
	return 0;
}

__noinline int narrow_by_signal(struct walk *w)
{
	/* esp is saved among them; the two behind eax are no registers. */
	static const __u8 slots[REGS_NR] = { EDI, ESI, EBP, ESP, EBX, EDX,
					     ECX, EAX, 31,  31,  EIP };
	__u64 from;
	__u32 i;

	if (!w)
		return OW_END_BAD_RULE;
	from = w->reg[ESP] + (__s64)w->rule.base_off;
	w->known = 0;
	for (i = 0; i < REGS_NR; i++)
		if (!read_narrow(from + 4 * i, &w->reg[slots[i] % SLOTS]))
			w->known |= BIT(slots[i] % SLOTS);
	w->known &= BIT(NR_NARROW) - 1;
	return is_known(w, EIP) && is_known(w, ESP) ? 0 : OW_END_FAULT;
}

/* By a frame pointer, or as after a call to where no code is. */
__noinline int narrow_by_guess(struct walk *w)
{
	__u64 at, fp, pc;

	if (!w)
		return OW_END_BAD_RULE;
	fp = w->reg[EBP];
	if (w->rule.kind == OW_BPF_FP) {
		at = fp;
		if (read_narrow(at, &fp) || read_narrow(at + 4, &pc))
			return OW_END_FAULT;
		w->reg[EBP] = fp;
		w->reg[ESP] = (__u32)(at + 8);
	} else {
		if (read_narrow(w->reg[ESP], &pc))
			return OW_END_FAULT;
		w->reg[ESP] = (__u32)(w->reg[ESP] + 4);
	}
	w->reg[EIP] = pc;
	w->known = (w->known & NARROW_SAVED) | BIT(ESP) | BIT(EIP);
	return 0;
}

static __always_inline int narrow_execute(struct walk *w)
{
	if (w->rule.kind == OW_BPF_SIGNAL)
		return narrow_by_signal(w);
	if (w->rule.kind == OW_BPF_FP || w->rule.kind == OW_BPF_CALL)
		return narrow_by_guess(w);
	return narrow_by_rule(w);
}

#endif /* OW_BPF_NARROWSTEP_H */
