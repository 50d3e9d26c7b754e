// SPDX-License-Identifier: BSD-2-Clause
#include "xenregs.h"

#include <xen/foreign/arm64.h>
#include <xen/foreign/x86_32.h>
#include <xen/foreign/x86_64.h>
#include <xen/xen.h>

#if defined(__x86_64__)
#include <xen/hvm/save.h>
#endif

#define PV_IN_KERNEL 4 /* VGCF_in_kernel */
#define CR0_PG       0x80000000u
#define CR4_PAE      0x20
#define EFER_LMA     0x400

/* In the order of DWARF's numbers, which are the slots. */
#define SET_X86_64(to, r)                                                 \
	do {                                                              \
		const uint64_t all[] = {                                  \
			(r)->rax, (r)->rdx, (r)->rcx, (r)->rbx, (r)->rsi, \
			(r)->rdi, (r)->rbp, (r)->rsp, (r)->r8,  (r)->r9,  \
			(r)->r10, (r)->r11, (r)->r12, (r)->r13, (r)->r14, \
			(r)->r15, (r)->rip,                               \
		};                                                        \
		set_all((to), &ow_arch_x86_64, all, OW_ARRAY_SIZE(all));  \
	} while (0)

static void set_all(struct ow_xen_vcpu *v, const struct ow_arch *arch,
		    const uint64_t *all, size_t nr)
{
	size_t i;

	v->arch = arch;
	v->regs.known = 0;
	for (i = 0; i < nr; i++)
		ow_regs_set(&v->regs, (unsigned int)i,
			    all[i] & ow_arch_mask(arch));
}

void ow_xenregs_pv64(const struct vcpu_guest_context_x86_64 *from,
		     struct ow_xen_vcpu *ret)
{
	SET_X86_64(ret, &from->user_regs);
	/* The kernel's tables have the program's memory as well. */
	ret->paging =
		ow_paging_x86(CR0_PG, from->ctrlreg[3], CR4_PAE, EFER_LMA);
	ret->is_user = !(from->flags & PV_IN_KERNEL);
	ret->gate = from->trap_ctxt[0].address;
	ret->idt = 0;
}

/*
 * The frame is rotated into the word, as a table may lie above 4 GiB (Xen,
 * public/arch-x86/xen-x86_32.h, xen_cr3_to_pfn()).
 */
void ow_xenregs_pv32(const struct vcpu_guest_context_x86_32 *from,
		     struct ow_xen_vcpu *ret)
{
	const struct cpu_user_regs_x86_32 *r = &from->user_regs;
	const uint64_t all[] = { r->eax, r->ecx, r->edx, r->ebx, r->esp,
				 r->ebp, r->esi, r->edi, r->eip };
	uint32_t cr3 = from->ctrlreg[3];

	set_all(ret, &ow_arch_i386, all, OW_ARRAY_SIZE(all));
	ret->paging = ow_paging_x86(CR0_PG, 0, CR4_PAE, 0);
	ret->paging.low.root = (uint64_t)(cr3 >> 12 | cr3 << 20) << 12;
	ret->is_user = (r->cs & 3) == 3;
	ret->gate = from->trap_ctxt[0].address;
	ret->idt = 0;
}

#if defined(__x86_64__)
/* Bits of a segment's attributes, as the hypervisor keeps them. */
#define SEG_L   0x200
#define SEG_DPL 0x60

static void set_i386(struct ow_xen_vcpu *v, const struct hvm_hw_cpu *r)
{
	const uint64_t all[] = { r->rax, r->rcx, r->rdx, r->rbx, r->rsp,
				 r->rbp, r->rsi, r->rdi, r->rip };

	set_all(v, &ow_arch_i386, all, OW_ARRAY_SIZE(all));
}

void ow_xenregs_hvm(const struct hvm_hw_cpu *from, struct ow_xen_vcpu *ret)
{
	if (from->msr_efer & EFER_LMA && from->cs_arbytes & SEG_L)
		SET_X86_64(ret, from);
	else
		set_i386(ret, from);
	ret->paging =
		ow_paging_x86(from->cr0, from->cr3, from->cr4, from->msr_efer);
	ret->is_user = (from->ss_arbytes & SEG_DPL) == SEG_DPL;
	ret->idt = from->idtr_base;
	ret->gate = 0;
}
#endif

#define PSR_32   0x10 /* in AArch32 state */
#define PSR_MODE 0x1f
#define PSR_EL0T 0
#define PSR_EL1T 4
#define PSR_USR  0x10

static void set_aarch64(struct ow_xen_vcpu *v,
			const struct vcpu_guest_core_regs_arm64 *r)
{
	const uint64_t general[] = {
		r->x0,  r->x1,  r->x2,  r->x3,  r->x4,  r->x5,  r->x6,  r->x7,
		r->x8,  r->x9,  r->x10, r->x11, r->x12, r->x13, r->x14, r->x15,
		r->x16, r->x17, r->x18, r->x19, r->x20, r->x21, r->x22, r->x23,
		r->x24, r->x25, r->x26, r->x27, r->x28, r->x29, r->x30,
	};
	bool is_sp0 = (r->cpsr & 0xf) == PSR_EL0T ||
		      (r->cpsr & 0xf) == PSR_EL1T;

	set_all(v, &ow_arch_aarch64, general, OW_ARRAY_SIZE(general));
	ow_regs_set(&v->regs, ow_arch_aarch64.sp,
		    is_sp0 ? r->sp_el0 : r->sp_el1);
	ow_regs_set(&v->regs, ow_arch_aarch64.pc, r->pc64);
	v->is_user = (r->cpsr & 0xf) == PSR_EL0T;
}

/* Each mode has its own sp and lr. */
static void set_arm(struct ow_xen_vcpu *v,
		    const struct vcpu_guest_core_regs_arm64 *r)
{
	const struct {
		uint8_t mode;
		uint64_t sp, lr;
	} banks[] = {
		{ 0x10, r->x13, r->x14 }, /* user */
		{ 0x1f, r->x13, r->x14 }, /* system */
		{ 0x12, r->x17, r->x16 }, /* IRQ */
		{ 0x13, r->x19, r->x18 }, /* supervisor */
		{ 0x17, r->x21, r->x20 }, /* abort */
		{ 0x1b, r->x23, r->x22 }, /* undefined */
		{ 0x11, r->x29, r->x30 }, /* FIQ */
	};

	uint64_t all[16] = { r->x0, r->x1, r->x2, r->x3,  r->x4,  r->x5, r->x6,
			     r->x7, r->x8, r->x9, r->x10, r->x11, r->x12 };
	uint8_t mode = r->cpsr & PSR_MODE;
	size_t i;

	for (i = 0; i < OW_ARRAY_SIZE(banks); i++)
		if (banks[i].mode == mode) {
			all[13] = banks[i].sp;
			all[14] = banks[i].lr;
		}
	if (mode == 0x11) {
		all[8] = r->x24;
		all[9] = r->x25;
		all[10] = r->x26;
		all[11] = r->x27;
		all[12] = r->x28;
	}
	all[15] = r->pc64;
	set_all(v, &ow_arch_arm, all, OW_ARRAY_SIZE(all));
	v->is_user = mode == PSR_USR;
}

void ow_xenregs_arm(const struct vcpu_guest_context_arm64 *from,
		    struct ow_xen_vcpu *ret)
{
	bool is_32 = from->user_regs.cpsr & PSR_32;

	ret->idt = ret->gate = 0;
	if (is_32)
		set_arm(ret, &from->user_regs);
	else
		set_aarch64(ret, &from->user_regs);
	ret->paging = is_32 ? ow_paging_arm(from->sctlr, from->ttbcr,
					    from->ttbr0, from->ttbr1) :
			      ow_paging_aarch64(from->sctlr, from->ttbcr,
						from->ttbr0, from->ttbr1);
}
