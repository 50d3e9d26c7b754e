/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Walking the stacks of 32-bit programs: as bpfwalk.h, but each row is looked up.
 * There are few such programs; others don't pay for them.
 */
#ifndef OW_BPF_NARROW_H
#define OW_BPF_NARROW_H

#include "bpfnarrowstep.h"
#include "bpfwalk.h"

/* Bytes of the trampolines' code. */
#define OLD_SIZE    8
#define POPPED_SIZE 7
#define RT_SIZE     7

/* Where a signal's registers are, by the trampoline's code at pc; or 0. */
__noinline int narrow_trampoline_at(__u64 pc)
{
	__u64 code = 0;

	/* pop %eax; mov $__NR_sigreturn,%eax; int $0x80 */
	if (!bpf_probe_read_user(&code, OLD_SIZE, (void *)pc) &&
	    code == 0x80cd00000077b858ULL)
		return OLD_REGS;
	code = 0;
	if (bpf_probe_read_user(&code, RT_SIZE, (void *)pc))
		return 0;
	/* The same behind its pop. */
	if (code == 0x80cd00000077b8ULL)
		return POPPED_REGS;
	/* mov $__NR_rt_sigreturn,%eax; int $0x80 */
	return code == 0x80cd000000adb8ULL ? RT_REGS : 0;
}

/* Is a signal frame there?  By what the kernel stores as cs. */
static __always_inline bool has_narrow_mark(const struct walk *w, __u32 regs)
{
	__u64 cs;

	return !read_narrow(w->reg[ESP] + regs + REGS_CS, &cs) &&
	       (cs & 0xffaf) == USER32_CS;
}

/* A trampoline that called the kernel, which is restoring registers. */
static __always_inline int narrow_returning(const struct walk *w)
{
	int at;

	if (w->flags & OW_FRAME_RETURN)
		return 0;
	at = narrow_trampoline_at((__u32)(w->reg[EIP] - POPPED_SIZE));
	if ((at == POPPED_REGS && has_narrow_mark(w, POPPED_REGS)) ||
	    (at == RT_REGS && has_narrow_mark(w, RT_REGS)))
		return at;
	return 0;
}

/* Where registers are, if a handler returns here or is just returning. */
__noinline int narrow_trampoline(struct walk *w)
{
	int at;

	if (!w)
		return 0;
	at = narrow_trampoline_at(w->reg[EIP]);
	return at ? at : narrow_returning(w);
}

/* Into w->rule, if a signal's registers are at esp + regs. */
static __always_inline bool narrow_signal(struct walk *w, int regs)
{
	if (!regs)
		return false;
	signal_rule(w);
	w->rule.base_off = regs;
	return true;
}

/* No CFI: a signal's trampoline, or the frame pointer. */
__noinline int narrow_fallback(struct walk *w, __u64 addr)
{
	__u64 fp;

	if (!w)
		return OW_END_NO_CFI;
	if (narrow_signal(w, narrow_trampoline(w)))
		return 0;
	fp = w->reg[EBP];
	w->rule.kind = OW_BPF_FP;
	w->rule.flags = 0;
	w->rule.how = OW_HOW_FP;
	if (!is_known(w, EBP))
		return OW_END_UNKNOWN;
	if (fp == 0 && is_outermost(w, addr, w->reg[EIP]))
		w->rule.flags = OW_BPF_RULE_OUTERMOST;
	else if (fp == 0 || fp % 4 || (is_known(w, ESP) && fp < w->reg[ESP]))
		return OW_END_NO_CFI;
	return 0;
}

/* As is_behind_last(): either frame may be the one that is there. */
__noinline int is_narrow_last(struct walk *w, __u64 addr)
{
	__u64 cs;

	if (!w || !(w->rule.flags & OW_BPF_RULE_LAST) || addr == w->reg[EIP])
		return false;
	return has_narrow_mark(w, OLD_REGS) || has_narrow_mark(w, RT_REGS) ||
	       read_narrow(w->reg[ESP] + OLD_REGS + REGS_CS, &cs) ||
	       read_narrow(w->reg[ESP] + RT_REGS + REGS_CS, &cs);
}

/* The rule of the frame whose code is at addr, into w->rule; or an end. */
static __always_inline int narrow_rule(struct walk *w, __u64 addr)
{
	int end;

	if (!find_range(w, addr))
		return nowhere(w);
	end = look_up(w, addr, 4);
	if (end)
		return end;
	if (w->rule.kind == OW_BPF_NONE)
		return narrow_fallback(w, addr);
	if (w->rule.kind == OW_BPF_ESCAPE)
		return narrow_signal(w, narrow_trampoline(w)) ?
			       0 :
			       OW_END_UNSUPPORTED;
	if (is_narrow_last(w, addr))
		narrow_signal(w, narrow_trampoline(w));
	return 0;
}

/* As check_guess(). */
__noinline int check_narrow_guess(struct walk *w)
{
	__u64 pc;

	if (!w)
		return OW_END_NO_CFI;
	pc = w->reg[EIP];
	if (!find_range(w, (__u32)note_guess(w, pc)))
		return OW_END_NO_CFI;
	if (needs_no_call(w, w->reg[EBP]))
		return 0;
	return follows_call(w, pc) || narrow_trampoline_at(pc) ? 0 :
								 OW_END_NO_CFI;
}

/* One frame further, as walk_step(). */
__noinline int narrow_step(struct walk *w)
{
	__u64 old_pc, old_sp;
	bool was_return, by_signal;
	int end;

	if (!w)
		return OW_END_BAD_RULE;
	if (w->nr >= w->max)
		return OW_END_LIMIT;
	was_return = w->flags & OW_FRAME_RETURN;
	old_pc = w->reg[EIP];
	old_sp = w->reg[ESP];
	end = narrow_rule(w, (__u32)(old_pc - was_return));
	if (end)
		return end;
	by_signal = w->rule.flags & OW_BPF_RULE_SIGNAL;
	if (by_signal)
		mark_signal(w);
	if (w->rule.flags & OW_BPF_RULE_OUTERMOST)
		return OW_END_OUTERMOST;
	end = narrow_execute(w);
	if (end)
		return end;
	if (w->reg[EIP] == 0 && !by_signal)
		return OW_END_OUTERMOST;
	if (!progressed(w, w->reg[EIP], w->reg[ESP], old_pc, old_sp,
			was_return))
		return OW_END_CYCLE;
	if (!is_guess(w, ESP))
		w->guessed = 0;
	else if (check_narrow_guess(w))
		return OW_END_NO_CFI;
	if (w->rule.kind == OW_BPF_FP)
		w->known &= BIT(EBP) | BIT(ESP) | BIT(EIP);
	push_pc(w, w->reg[EIP], w->rule.how, by_signal ? 0 : OW_FRAME_RETURN);
	return 0;
}

__noinline int narrow_part(struct walk *w)
{
	int end = 0, i;

	for (i = 0; i < PART && !end; i++)
		end = narrow_step(w);
	return end;
}

/* All frames of a program for which put_narrow() was. */
static __always_inline void narrow_run(struct walk *w)
{
	int end = 0, i;

	walk_begin(w);
	if (w->max == 0) {
		w->end = OW_END_LIMIT;
		return;
	}
	push_pc(w, w->reg[EIP], OW_HOW_REGS, 0);
	for (i = 0; i < OW_BPF_FRAMES / PART && !end; i++)
		end = narrow_part(w);
	w->end = end ? end : OW_END_LIMIT;
}

#endif /* OW_BPF_NARROW_H */
