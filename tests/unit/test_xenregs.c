// SPDX-License-Identifier: BSD-2-Clause
/* From Xen's own structures to registers and paging. */
#include "xenregs.h"

#include <string.h>

#include "test.h"

#if defined(OW_HAVE_XENCALL) || defined(OW_HAVE_LIBXC)

#include <xen/foreign/arm64.h>
#include <xen/foreign/x86_32.h>
#include <xen/foreign/x86_64.h>
#include <xen/xen.h>
#if defined(__x86_64__)
#include <xen/hvm/save.h>
#endif

static uint64_t reg(const struct ow_xen_vcpu *v, const char *name)
{
	unsigned int i;

	for (i = 0; i < v->arch->nr_regs; i++)
		if (strcmp(v->arch->names[i], name) == 0)
			return ow_regs_known(&v->regs, i) ? v->regs.val[i] : 0;
	return 0;
}

static void test_pv64(void)
{
	static struct vcpu_guest_context_x86_64 c;
	struct ow_xen_vcpu v;

	c.user_regs.rip = 0xffffffff81000000;
	c.user_regs.rsp = 0xffff880000001000;
	c.user_regs.rbp = 5;
	c.user_regs.rdx = 6;
	c.user_regs.rbx = 7;
	c.user_regs.r8 = 8;
	c.user_regs.r15 = 15;
	c.ctrlreg[3] = 0x123456000;
	c.trap_ctxt[0].address = 0xffffffff81800000;
	c.flags = 4;
	ow_xenregs_pv64(&c, &v);
	CHECK(v.arch == &ow_arch_x86_64 && !v.is_user);
	CHECK(reg(&v, "rip") == 0xffffffff81000000);
	CHECK(reg(&v, "rsp") == 0xffff880000001000);
	CHECK(reg(&v, "rbp") == 5 && reg(&v, "rdx") == 6);
	CHECK(reg(&v, "rbx") == 7 && reg(&v, "r8") == 8);
	CHECK(reg(&v, "r15") == 15);
	CHECK(v.paging.format == OW_PAGING_X86_64);
	CHECK(v.paging.low.root == 0x123456000 && v.paging.low.levels == 4);
	CHECK(v.gate == 0xffffffff81800000 && v.idt == 0);
	c.flags = 0;
	ow_xenregs_pv64(&c, &v);
	CHECK(v.is_user);
}

/* Frame 0x345678 is written with its upper bits below. */
static void test_pv32(void)
{
	static struct vcpu_guest_context_x86_32 c;
	struct ow_xen_vcpu v;

	c.user_regs.eip = 0xc0100000;
	c.user_regs.esp = 0xc0200000;
	c.user_regs.ebp = 5;
	c.user_regs.ecx = 6;
	c.user_regs.cs = 0xe019;
	c.ctrlreg[3] = 0x345678u << 12 | 0x345678u >> 20;
	ow_xenregs_pv32(&c, &v);
	CHECK(v.arch == &ow_arch_i386 && !v.is_user);
	CHECK(reg(&v, "eip") == 0xc0100000 && reg(&v, "esp") == 0xc0200000);
	CHECK(reg(&v, "ebp") == 5 && reg(&v, "ecx") == 6);
	CHECK(v.paging.format == OW_PAGING_X86_PAE);
	CHECK(v.paging.low.root == 0x345678000);
	c.user_regs.cs = 0xe02b;
	ow_xenregs_pv32(&c, &v);
	CHECK(v.is_user);
}

#if defined(__x86_64__)
static void test_hvm(void)
{
	static struct hvm_hw_cpu c;
	struct ow_xen_vcpu v;

	c.rip = 0xffffffff81000000;
	c.rsp = 0xffffc90000001000;
	c.rbp = 5;
	c.rdi = 6;
	c.cr0 = 0x80000001;
	c.cr3 = 0x1234018;
	c.cr4 = 0x1020;
	c.msr_efer = 0xd00;
	c.cs_arbytes = 0xa9b;
	c.idtr_base = 0xfffffe0000000000;
	ow_xenregs_hvm(&c, &v);
	CHECK(v.arch == &ow_arch_x86_64 && !v.is_user);
	CHECK(reg(&v, "rip") == 0xffffffff81000000 && reg(&v, "rdi") == 6);
	CHECK(v.paging.format == OW_PAGING_X86_64 && v.paging.low.levels == 5);
	CHECK(v.paging.high.root == 0x1234000);
	CHECK(v.idt == 0xfffffe0000000000 && v.gate == 0);
	c.ss_arbytes = 0xcf3;
	ow_xenregs_hvm(&c, &v);
	CHECK(v.is_user);
	/* 32-bit code of a 64-bit kernel. */
	c.cs_arbytes = 0xcfb;
	ow_xenregs_hvm(&c, &v);
	CHECK(v.arch == &ow_arch_i386 && reg(&v, "eip") == 0x81000000);
	CHECK(v.paging.format == OW_PAGING_X86_64);
	/* A 32-bit kernel: L has no meaning then. */
	c.msr_efer = 0;
	c.cs_arbytes = 0xa9b;
	c.cr4 = 0x20;
	ow_xenregs_hvm(&c, &v);
	CHECK(v.arch == &ow_arch_i386);
	CHECK(v.paging.format == OW_PAGING_X86_PAE);
	c.cr4 = 0;
	ow_xenregs_hvm(&c, &v);
	CHECK(v.paging.format == OW_PAGING_X86_32);
	c.cr0 = 1;
	ow_xenregs_hvm(&c, &v);
	CHECK(v.paging.format == OW_PAGING_OFF);
}
#endif

static void test_arm64(void)
{
	static struct vcpu_guest_context_arm64 c;
	struct ow_xen_vcpu v;

	c.user_regs.pc64 = 0xffff800008000000;
	c.user_regs.sp_el0 = 0x1000;
	c.user_regs.sp_el1 = 0xffff80000a000000;
	c.user_regs.x29 = 29;
	c.user_regs.x30 = 30;
	c.user_regs.cpsr = 0x600003c5; /* EL1h */
	c.sctlr = 1;
	c.ttbcr = 2ULL << 30 | 16ULL << 16 | 16;
	c.ttbr0 = 0x40001000;
	c.ttbr1 = 0x00aa000040002000;
	ow_xenregs_arm(&c, &v);
	CHECK(v.arch == &ow_arch_aarch64 && !v.is_user);
	CHECK(reg(&v, "pc") == 0xffff800008000000);
	CHECK(reg(&v, "sp") == 0xffff80000a000000);
	CHECK(reg(&v, "x29") == 29 && reg(&v, "x30") == 30);
	CHECK(v.paging.format == OW_PAGING_ARM_LONG);
	CHECK(v.paging.low.root == 0x40001000);
	CHECK(v.paging.high.root == 0x40002000);
	c.user_regs.cpsr = 0; /* EL0t */
	ow_xenregs_arm(&c, &v);
	CHECK(v.is_user && reg(&v, "sp") == 0x1000);
	c.user_regs.cpsr = 4; /* EL1t */
	ow_xenregs_arm(&c, &v);
	CHECK(!v.is_user && reg(&v, "sp") == 0x1000);
}

static void test_arm32(void)
{
	static struct vcpu_guest_context_arm64 c;

	static const struct {
		uint64_t mode, sp;
	} modes[] = { { 0x10, 13 }, { 0x1f, 13 }, { 0x12, 17 }, { 0x13, 19 },
		      { 0x17, 21 }, { 0x1b, 23 }, { 0x11, 29 } };
	struct ow_xen_vcpu v;
	size_t i;

	c.user_regs.x11 = 11;
	c.user_regs.x13 = 13;
	c.user_regs.x17 = 17;
	c.user_regs.x19 = 19;
	c.user_regs.x21 = 21;
	c.user_regs.x23 = 23;
	c.user_regs.x27 = 27;
	c.user_regs.x29 = 29;
	c.user_regs.pc64 = 0xc0008000;
	for (i = 0; i < OW_ARRAY_SIZE(modes); i++) {
		c.user_regs.cpsr = modes[i].mode;
		ow_xenregs_arm(&c, &v);
		CHECK(v.arch == &ow_arch_arm && reg(&v, "sp") == modes[i].sp);
		CHECK(reg(&v, "r11") == (modes[i].mode == 0x11 ? 27 : 11));
		CHECK(reg(&v, "pc") == 0xc0008000);
		CHECK(v.is_user == (modes[i].mode == 0x10));
	}
	c.sctlr = 1;
	c.ttbr0 = 0x40004000;
	ow_xenregs_arm(&c, &v);
	CHECK(v.paging.format == OW_PAGING_ARM_SHORT && v.paging.is_32);
	CHECK(v.paging.low.root == 0x40004000);
}

static const struct test tests[] = {
	{ "PV, 64 bits", test_pv64 }, { "PV, 32 bits", test_pv32 },
#if defined(__x86_64__)
	{ "HVM", test_hvm },
#endif
	{ "AArch64", test_arm64 },    { "Arm", test_arm32 },
};

int main(void)
{
	return test_main(tests, OW_ARRAY_SIZE(tests));
}

#else

int main(void)
{
	puts("0 passed, 0 failed, 1 skipped");
	return 0;
}

#endif
