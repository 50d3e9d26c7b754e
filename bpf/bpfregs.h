/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Registers of the program that the current thread runs. */
#ifndef OW_BPF_REGS_H
#define OW_BPF_REGS_H

#include "bpfnarrow.h"

#define NR_SIGRETURN 15 /* rt_sigreturn, x86-64 */

static __always_inline void order_regs(__u64 *reg, const struct user_regs *r)
{
	reg[0] = r->ax;
	reg[1] = r->dx;
	reg[2] = r->cx;
	reg[3] = r->bx;
	reg[4] = r->si;
	reg[5] = r->di;
	reg[6] = r->bp;
	reg[7] = r->sp;
	reg[8] = r->r8;
	reg[9] = r->r9;
	reg[10] = r->r10;
	reg[11] = r->r11;
	reg[12] = r->r12;
	reg[13] = r->r13;
	reg[14] = r->r14;
	reg[15] = r->r15;
	reg[16] = r->ip;
}

/* The registers of a program, or the end (enum ow_end); or NARROW: 32-bit. */
static __always_inline int put_regs(struct walk *w, const struct user_regs *r)
{
	if (r->cs != USER_CS)
		return put_narrow(w, r);
	order_regs(w->reg, r);
	w->known = (1ULL << OW_BPF_REGS) - 1;
	return 0;
}

/*
 * Is it just being replaced by exec?  Its memory is the new program's then, whose
 * code is to be told of, but the registers are the old one's (fs/binfmt_elf.c):
 * neither has any frames.
 */
static __always_inline bool is_new(struct task_struct *task)
{
	return task->mm && !task->mm->start_code;
}

/*
 * The registers that the program had when it was interrupted last.  While a
 * signal's handler returns, the kernel puts back those that were interrupted by
 * it, one by one, and only then tells that (arch/x86/kernel/signal_64.c): where
 * sp isn't at the signal frame any more they are neither's.
 */
__noinline int load_regs(struct walk *w)
{
	struct task_struct *task = (void *)bpf_get_current_task_btf();
	struct user_regs r;
	int failed;

	if (!w || is_new(task) || w->process.is_between)
		return OW_END_OUTERMOST;
	if (bpf_probe_read_kernel(&r, sizeof(r),
				  (void *)bpf_task_pt_regs((void *)task)))
		return OW_END_FAULT;
	failed = put_regs(w, &r);
	if (!failed && r.orig_ax == NR_SIGRETURN && !has_mark(w))
		return OW_END_UNKNOWN;
	return failed;
}

/* interrupted: what was going on, if the program may tell; or NULL. */
static __always_inline bool is_in_user(const struct user_regs *interrupted)
{
	return interrupted && interrupted->cs == USER_CS;
}

#endif /* OW_BPF_REGS_H */
