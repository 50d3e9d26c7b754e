// SPDX-License-Identifier: BSD-2-Clause
/*
 * The test guest on arm64: CPUs by PSCI (Arm DEN 0022), events by the virtual
 * timer through a GICv3 (Arm IHI 0069), where Xen has them (its public
 * arch-arm.h).
 */
#include <stdint.h>

#include "calls.h"

#define BASE      0xffff800000000000
#define RAM       0x40000000
#define DEVICES   (BASE + 0x80000000) /* where the entry maps address 0 */
#define GICD      (DEVICES + 0x03001000)
#define GICR      (DEVICES + 0x03020000)
#define GICR_EACH 0x20000
#define GICR_SGI  0x10000 /* second frame */
#define TIMER_PPI 27
#define CPU_ON    0xc4000003
#define NO_CPU    (-2) /* INVALID_PARAMETERS */

#define READ(reg)                                                \
	({                                                       \
		uint64_t value_;                                 \
		__asm__ volatile("mrs %0, " reg : "=r"(value_)); \
		value_;                                          \
	})
#define WRITE(reg, value) \
	__asm__ volatile("msr " reg ", %0; isb" : : "r"((uint64_t)(value)))

#define ICC_PMR     "s3_0_c4_c6_0"
#define ICC_IAR1    "s3_0_c12_c12_0"
#define ICC_EOIR1   "s3_0_c12_c12_1"
#define ICC_SRE     "s3_0_c12_c12_5"
#define ICC_IGRPEN1 "s3_0_c12_c12_7"

extern char start_cpu[];

static volatile uint32_t *reg32(uint64_t addr)
{
	return (volatile uint32_t *)addr;
}

void platform_start(unsigned long cpu)
{
	register uint64_t x0 __asm__("x0") = CPU_ON;
	register uint64_t x1 __asm__("x1") = cpu; /* affinity */
	register uint64_t x2 __asm__("x2") = (uint64_t)start_cpu - BASE + RAM;
	register uint64_t x3 __asm__("x3") = cpu;

	__asm__ volatile("hvc #0"
			 : "+r"(x0), "+r"(x1), "+r"(x2), "+r"(x3)
			 :
			 : "memory");
	if (x0 && (int32_t)x0 != NO_CPU)
		for (;;)
			__asm__ volatile("wfi");
}

static void set_timer(void)
{
	WRITE("cntv_tval_el0", READ("cntfrq_el0") / 100);
	WRITE("cntv_ctl_el0", 1);
}

void platform_start_events(unsigned long cpu)
{
	uint64_t gicr = GICR + cpu * GICR_EACH;
	uint64_t sgi = gicr + GICR_SGI;

	if (cpu == 0)
		*reg32(GICD) = 0x12; /* CTLR: affinity routing, group 1 */
	*reg32(gicr + 0x14) = 0;     /* WAKER */
	*reg32(sgi + 0x80) = 1U << TIMER_PPI;  /* IGROUPR0 */
	*reg32(sgi + 0x418) = 0xa0a0a0a0;      /* IPRIORITYR6: of 24-27 */
	*reg32(sgi + 0x100) = 1U << TIMER_PPI; /* ISENABLER0 */
	WRITE(ICC_SRE, 7);
	WRITE(ICC_PMR, 0xff);
	WRITE(ICC_IGRPEN1, 1);
	set_timer();
	__asm__ volatile("msr daifclr, #2" ::: "memory");
}

void platform_end_event(unsigned long cpu)
{
	uint64_t interrupt = READ(ICC_IAR1);

	(void)cpu;
	if (interrupt == TIMER_PPI)
		set_timer();
	WRITE(ICC_EOIR1, interrupt);
}

void platform_trap(void)
{
	__asm__ volatile("brk #0" ::: "memory");
}

void platform_block(void)
{
	__asm__ volatile("wfi" ::: "memory");
}
