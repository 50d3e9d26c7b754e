// SPDX-License-Identifier: BSD-2-Clause
/* The test guest of 32 bits, PVH: hypercalls, CPUs, traps and events. */
#define __XEN_INTERFACE_VERSION__ 0x00040d00

#include <stddef.h>
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

#define BASE       0xc0000000
#define PERIOD_NS  10000000
#define VECTOR_UD  6
#define VECTOR_EVT 0x40
#define NO_CPU     ((unsigned long)-2) /* ENOENT */
#define AR_CODE    0xc9b /* 4 GiB, 32 bits; as the table of start-i386.S has it */
#define AR_DATA    0xc93
#define AR_TSS     0x8b

extern char start_cpu[], entry_ud[], entry_event[], page_dir[];

struct gate {
	uint16_t low, cs, type, high;
};

struct gate idt[256];

static union {
	struct shared_info info;
	char page[4096];
} shared __attribute__((aligned(4096)));

static unsigned long hypercall(unsigned long nr, unsigned long a,
			       unsigned long b, const void *c)
{
	unsigned long ret = nr;

	__asm__ volatile("vmmcall"
			 : "+a"(ret), "+b"(a), "+c"(b), "+d"(c)
			 :
			 : "memory");
	return ret;
}

static unsigned long hypercall2(unsigned long nr, unsigned long a,
				const void *b)
{
	return hypercall(nr, a, (unsigned long)b, NULL);
}

/* What nobody expects to fail ends the guest where the lab sees it. */
static void must(unsigned long ret)
{
	if ((long)ret < 0)
		for (;;)
			__asm__ volatile("hlt");
}

static void set_gate(int vector, const char *entry)
{
	unsigned long addr = (unsigned long)entry;

	idt[vector] = (struct gate){ addr & 0xffff, 8, 0x8e00, addr >> 16 };
}

/* Called once, before the others: entries of traps, and the shared page. */
void platform_init(void)
{
	struct xen_add_to_physmap map = {
		.domid = DOMID_SELF,
		.space = XENMAPSPACE_shared_info,
		.gpfn = ((unsigned long)&shared - BASE) >> 12,
	};
	struct xen_hvm_param callback = {
		.domid = DOMID_SELF,
		.index = HVM_PARAM_CALLBACK_IRQ,
		.value = 2ULL << 56 | VECTOR_EVT,
	};

	set_gate(VECTOR_UD, entry_ud);
	set_gate(VECTOR_EVT, entry_event);
	must(hypercall2(__HYPERVISOR_memory_op, XENMEM_add_to_physmap, &map));
	must(hypercall2(__HYPERVISOR_hvm_op, HVMOP_set_param, &callback));
}

/* It begins with paging on, and its number where a call would have put it. */
void platform_start(unsigned long cpu)
{
	static struct vcpu_hvm_context c;
	unsigned long *top = (unsigned long *)stacks[cpu + 1] - 1, ret;

	*top = cpu;
	c = (struct vcpu_hvm_context){
		.mode = VCPU_HVM_MODE_32B,
		.cpu_regs.x86_32 = {
			.eip = (unsigned long)start_cpu,
			.esp = (unsigned long)top,
			.eflags = 2,
			.cr0 = 0x80000001,
			.cr3 = (unsigned long)page_dir - BASE,
			.cr4 = 0x10,
			.cs_limit = ~0U,
			.ds_limit = ~0U,
			.ss_limit = ~0U,
			.es_limit = ~0U,
			.tr_limit = 0x67,
			.cs_ar = AR_CODE,
			.ds_ar = AR_DATA,
			.ss_ar = AR_DATA,
			.es_ar = AR_DATA,
			.tr_ar = AR_TSS,
		},
	};
	ret = hypercall(__HYPERVISOR_vcpu_op, VCPUOP_initialise, cpu, &c);
	if (ret == NO_CPU)
		return;
	must(ret);
	must(hypercall(__HYPERVISOR_vcpu_op, VCPUOP_up, cpu, NULL));
}

void platform_start_events(unsigned long cpu)
{
	struct evtchn_bind_virq bind = { .virq = VIRQ_TIMER, .vcpu = cpu };
	struct vcpu_set_periodic_timer timer = { PERIOD_NS };
	struct evtchn_unmask unmask;

	must(hypercall2(__HYPERVISOR_event_channel_op, EVTCHNOP_bind_virq,
			&bind));
	must(hypercall(__HYPERVISOR_vcpu_op, VCPUOP_set_periodic_timer, cpu,
		       &timer));
	unmask.port = bind.port;
	must(hypercall2(__HYPERVISOR_event_channel_op, EVTCHNOP_unmask,
			&unmask));
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
	hypercall(__HYPERVISOR_sched_op, SCHEDOP_block, 0, NULL);
}
