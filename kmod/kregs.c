// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#include "kregs.h"

#if defined(CONFIG_UML) && defined(CONFIG_X86_64)

#define REG(r, name) PT_REGS_##name(r)

#elif defined(CONFIG_X86_64)

#define REG(r, name) ((r)->REG_##name)
#define REG_AX       ax
#define REG_BX       bx
#define REG_CX       cx
#define REG_DX       dx
#define REG_SI       si
#define REG_DI       di
#define REG_BP       bp
#define REG_SP       sp
#define REG_R8       r8
#define REG_R9       r9
#define REG_R10      r10
#define REG_R11      r11
#define REG_R12      r12
#define REG_R13      r13
#define REG_R14      r14
#define REG_R15      r15
#define REG_IP       ip

#endif

#ifdef CONFIG_X86_64

/* In the order of arch_x86_64.c's slots; not by way of the stack. */
static void fill_64(struct pt_regs *r, struct ow_regs *ret)
{
	u64 *v = ret->val;

	v[0] = REG(r, AX), v[1] = REG(r, DX), v[2] = REG(r, CX);
	v[3] = REG(r, BX), v[4] = REG(r, SI), v[5] = REG(r, DI);
	v[6] = REG(r, BP), v[7] = REG(r, SP), v[8] = REG(r, R8);
	v[9] = REG(r, R9), v[10] = REG(r, R10), v[11] = REG(r, R11);
	v[12] = REG(r, R12), v[13] = REG(r, R13), v[14] = REG(r, R14);
	v[15] = REG(r, R15), v[16] = REG(r, IP);
	ret->known = (1 << 17) - 1;
}

#ifndef CONFIG_UML
/* In the order of arch_i386.c's: DWARF's own. */
static noinline void fill_32(struct pt_regs *r, struct ow_regs *ret)
{
	const u32 val[] = { r->ax, r->cx, r->dx, r->bx, r->sp,
			    r->bp, r->si, r->di, r->ip };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(val); i++)
		ret->val[i] = val[i];
	ret->known = (1 << ARRAY_SIZE(val)) - 1;
}
#endif

const struct ow_arch *kw_regs(struct pt_regs *regs, struct ow_regs *ret)
{
#ifndef CONFIG_UML
	if (!user_64bit_mode(regs)) {
		fill_32(regs, ret);
		return &ow_arch_i386;
	}
#endif
	fill_64(regs, ret);
	return &ow_arch_x86_64;
}

void kw_regs_place(struct pt_regs *regs, u64 *pc, u64 *sp)
{
	*pc = REG(regs, IP);
	*sp = REG(regs, SP);
}

#elif defined(CONFIG_ARM64)

/* x0 to x30, sp and pc are the first slots of arch_aarch64.c. */
const struct ow_arch *kw_regs(struct pt_regs *regs, struct ow_regs *ret)
{
	BUILD_BUG_ON(sizeof(regs->regs) != 31 * sizeof(u64));
	if (compat_user_mode(regs))
		return NULL;
	memcpy(ret->val, regs->regs, sizeof(regs->regs));
	ret->val[31] = regs->sp;
	ret->val[32] = regs->pc;
	ret->known = (1ULL << 33) - 1;
	return &ow_arch_aarch64;
}

void kw_regs_place(struct pt_regs *regs, u64 *pc, u64 *sp)
{
	*pc = regs->pc;
	*sp = regs->sp;
}

#else
#error "kunwind knows x86-64 and arm64 only"
#endif
