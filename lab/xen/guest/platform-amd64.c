// SPDX-License-Identifier: BSD-2-Clause
/*
 * The test guest on amd64, paravirtual (ring 3, Xen's page tables) or PVH
 * (ring 0, its own): hypercalls, CPUs, traps and events of both.
 */
/* Hypercalls by their present numbers. */
#define __XEN_INTERFACE_VERSION__ 0x00040d00

#include <stdint.h>

#include <xen/event_channel.h>
#include <xen/hvm/hvm_op.h>
#include <xen/hvm/hvm_vcpu.h>
#include <xen/hvm/params.h>
#include <xen/memory.h>
#include <xen/sched.h>
#include <xen/vcpu.h>
#include <xen/xen.h>

#include "calls.h"

#define BASE       0xffffffff80000000
#define PERIOD_NS  10000000
#define VECTOR_UD  6
#define VECTOR_EVT 0x40
#define NO_CPU     ((unsigned long)-2) /* ENOENT */

extern uint8_t is_pv; /* set by the entry */
extern char start_cpu_pv[], start_cpu_pvh[];
extern char entry_ud[], entry_ud_pv[], entry_event[], entry_event_pv[];
extern char entry_failsafe[];

struct gate {
	uint16_t low, cs;
	uint8_t ist, type;
	uint16_t mid;
	uint32_t high, zero;
};

struct gate idt[256];

static union {
	struct shared_info info;
	char page[4096];
} shared __attribute__((aligned(4096)));

static unsigned long hypercall(unsigned long nr, unsigned long a,
			       unsigned long b, unsigned long c)
{
	unsigned long ret = nr;

	if (is_pv)
		__asm__ volatile("syscall"
				 : "+a"(ret), "+D"(a), "+S"(b), "+d"(c)
				 :
				 : "rcx", "r11", "memory");
	else
		__asm__ volatile("vmmcall"
				 : "+a"(ret), "+D"(a), "+S"(b), "+d"(c)
				 :
				 : "memory");
	return ret;
}

/* What nobody expects to fail ends the guest where the lab sees it. */
static void must(unsigned long ret)
{
	if ((long)ret < 0)
		for (;;)
			__asm__ volatile("hlt");
}

static unsigned long read_cr3(void)
{
	unsigned long cr3;

	__asm__ volatile("mov %%cr3, %0" : "=r"(cr3));
	return cr3;
}

static void set_gate(int vector, const char *entry)
{
	unsigned long addr = (unsigned long)entry;

	idt[vector] = (struct gate){ addr & 0xffff,       8,          0, 0x8e,
				     addr >> 16 & 0xffff, addr >> 32, 0 };
}

/* Called once, before the others: entries of traps, and the shared page. */
void platform_init(const struct start_info *start)
{
	static struct trap_info traps[] = {
		{ VECTOR_UD, 0, FLAT_KERNEL_CS, 0 },
		{ 0, 0, 0, 0 },
	};
	struct xen_add_to_physmap map = {
		.domid = DOMID_SELF,
		.space = XENMAPSPACE_shared_info,
		.gpfn = ((unsigned long)&shared - BASE) >> 12,
	};
	struct xen_hvm_param callback = {
		.domid = DOMID_SELF,
		.index = HVM_PARAM_CALLBACK_IRQ,
		.value = 2UL << 56 | VECTOR_EVT,
	};

	if (is_pv) {
		traps[0].address = (unsigned long)entry_ud_pv;
		must(hypercall(__HYPERVISOR_set_trap_table,
			       (unsigned long)traps, 0, 0));
		must(hypercall(__HYPERVISOR_update_va_mapping,
			       (unsigned long)&shared, start->shared_info | 7,
			       UVMF_INVLPG));
		must(hypercall(__HYPERVISOR_set_callbacks,
			       (unsigned long)entry_event_pv,
			       (unsigned long)entry_failsafe, 0));
		return;
	}
	set_gate(VECTOR_UD, entry_ud);
	set_gate(VECTOR_EVT, entry_event);
	must(hypercall(__HYPERVISOR_memory_op, XENMEM_add_to_physmap,
		       (unsigned long)&map, 0));
	must(hypercall(__HYPERVISOR_hvm_op, HVMOP_set_param,
		       (unsigned long)&callback, 0));
}

static unsigned long initialise_pv(unsigned long cpu)
{
	static struct vcpu_guest_context c;

	c = (struct vcpu_guest_context){
		.flags = VGCF_in_kernel,
		.user_regs = {
			.rip = (unsigned long)start_cpu_pv,
			.rsp = (unsigned long)stacks[cpu + 1],
			.rdi = cpu,
			.cs = FLAT_KERNEL_CS,
			.ss = FLAT_KERNEL_SS,
			.rflags = 0x202,
		},
		.kernel_ss = FLAT_KERNEL_SS,
		.kernel_sp = (unsigned long)stacks[cpu + 1],
		.ctrlreg = { [3] = read_cr3() },
		.event_callback_eip = (unsigned long)entry_event_pv,
		.failsafe_callback_eip = (unsigned long)entry_failsafe,
		.trap_ctxt = { [VECTOR_UD] = {
			VECTOR_UD, 0, FLAT_KERNEL_CS,
			(unsigned long)entry_ud_pv } },
	};
	return hypercall(__HYPERVISOR_vcpu_op, VCPUOP_initialise, cpu,
			 (unsigned long)&c);
}

static unsigned long initialise_pvh(unsigned long cpu)
{
	static struct vcpu_hvm_context c;

	c = (struct vcpu_hvm_context){
		.mode = VCPU_HVM_MODE_64B,
		.cpu_regs.x86_64 = {
			.rip = (unsigned long)start_cpu_pvh,
			.rsp = (unsigned long)stacks[cpu + 1],
			.rdi = cpu,
			.rflags = 2,
			.cr0 = 0x80000001,
			.cr3 = read_cr3(),
			.cr4 = 0x20,
			.efer = 0x500,
		},
	};
	return hypercall(__HYPERVISOR_vcpu_op, VCPUOP_initialise, cpu,
			 (unsigned long)&c);
}

void platform_start(unsigned long cpu)
{
	unsigned long ret = is_pv ? initialise_pv(cpu) : initialise_pvh(cpu);

	if (ret == NO_CPU)
		return;
	must(ret);
	must(hypercall(__HYPERVISOR_vcpu_op, VCPUOP_up, cpu, 0));
}

void platform_start_events(unsigned long cpu)
{
	struct evtchn_bind_virq bind = { .virq = VIRQ_TIMER, .vcpu = cpu };
	struct vcpu_set_periodic_timer timer = { PERIOD_NS };
	struct evtchn_unmask unmask;

	must(hypercall(__HYPERVISOR_event_channel_op, EVTCHNOP_bind_virq,
		       (unsigned long)&bind, 0));
	must(hypercall(__HYPERVISOR_vcpu_op, VCPUOP_set_periodic_timer, cpu,
		       (unsigned long)&timer));
	unmask.port = bind.port;
	must(hypercall(__HYPERVISOR_event_channel_op, EVTCHNOP_unmask,
		       (unsigned long)&unmask, 0));
	if (is_pv)
		shared.info.vcpu_info[cpu].evtchn_upcall_mask = 0;
	else
		__asm__ volatile("sti" ::: "memory");
}

void platform_end_event(unsigned long cpu)
{
	struct vcpu_info *v = &shared.info.vcpu_info[cpu];
	unsigned long words, word, all = ~0UL;

	/* All that can be pending is the timer's. */
	v->evtchn_upcall_pending = 0;
	words = __atomic_exchange_n(&v->evtchn_pending_sel, 0,
				    __ATOMIC_SEQ_CST);
	for (word = 0; words; word++, words >>= 1)
		if (words & 1)
			__atomic_fetch_and(&shared.info.evtchn_pending[word],
					   ~all, __ATOMIC_SEQ_CST);
}

void platform_trap(void)
{
	__asm__ volatile("ud2" ::: "memory");
}

void platform_block(void)
{
	hypercall(__HYPERVISOR_sched_op, SCHEDOP_block, 0, 0);
}
