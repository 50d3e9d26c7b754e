// SPDX-License-Identifier: BSD-2-Clause
/*
 * The test guest: calls of every shape.  A checker knows them from the
 * disassembly, and beyond that from names: by_pointer_... may be called through
 * pointers, an interrupt enters entry_..., a CPU begins in start_...; and
 * frames of NAME in a row are, when it calls on, levels_of_NAME.
 */
#include "calls.h"

#define CALL            __attribute__((noipa))
#define DEEP            40
#define ABYSS           600 /* two functions together */
#define LEVELS(f, n)    __asm__(".globl levels_of_" #f "; levels_of_" #f " = " #n)
#define LEVELS_OF(f, n) LEVELS(f, n)

char stacks[NR_CPUS][STACK_SIZE] __attribute__((aligned(STACK_SIZE)));
volatile unsigned long counter;
volatile unsigned long work[NR_CPUS]; /* done since the last event */

/* What keeps a call from being the last thing of a function. */
#define AFTER __asm__ volatile("" ::: "memory")

CALL void busy(unsigned long n)
{
	for (unsigned long i = 0; i < n; i++)
		counter++;
}

CALL void f3(unsigned long n)
{
	volatile unsigned long local[8];

	local[n & 7] = n;
	busy(n);
	local[0]++;
}

CALL void f2(unsigned long n)
{
	volatile unsigned long local[20];

	local[n % 20] = n;
	f3(n);
	local[1]++;
}

CALL void f1(unsigned long n)
{
	f2(3 * n);
	counter++;
}

CALL void g2(unsigned long n)
{
	volatile unsigned long local[5];

	local[n % 5] = n;
	busy(n);
	local[2]++;
}

CALL void g1(unsigned long n)
{
	g2(n);
	counter++;
}

/* A jump: f1 is then below the caller. */
CALL void tail(unsigned long n)
{
	counter++;
	f1(n);
}

/* The stack is aligned beyond what the ABI does. */
CALL void aligned(unsigned long n)
{
	volatile unsigned long local[8] __attribute__((aligned(128)));

	local[n & 7] = n;
	busy(n);
	local[3]++;
}

/* The frame's size is not known before it runs. */
CALL void dynamic(unsigned long n)
{
	volatile unsigned long local[n % 100 + 1];

	local[n % 100] = n;
	g1(20 * n);
	local[0]++;
	aligned(n);
	AFTER;
}

/* Larger than some pages. */
CALL void large(unsigned long n)
{
	volatile unsigned long local[3000];

	local[n % 3000] = n;
	dynamic(n);
	local[2999]++;
}

/* More arguments than registers, which are pushed. */
CALL unsigned long many(unsigned long a, unsigned long b, unsigned long c,
			unsigned long d, unsigned long e, unsigned long f,
			unsigned long g, unsigned long h, unsigned long i,
			unsigned long j, unsigned long k)
{
	busy(a);
	busy(i);
	return a + b * c + d * e + f * g + h * i + j * k + counter;
}

CALL void by_pointer_a(unsigned long n)
{
	counter += many(n, n, counter, 1, 2, 3, 4, 5, n, 7, 8);
}

CALL void by_pointer_b(unsigned long n)
{
	large(n);
	AFTER;
}

void (*volatile pointers[2])(unsigned long) = { by_pointer_a, by_pointer_b };

CALL void indirect(unsigned long n)
{
	pointers[0](n);
	pointers[1](n);
	AFTER;
}

/* Calls in every part of a function that has more than one way out. */
CALL unsigned long branches(unsigned long n)
{
	if (n < 3) {
		busy(20);
		return n;
	}
	if (n % 7 == 0) {
		g2(n);
		return counter;
	}
	switch (n % 5) {
	case 0: f3(n); break;
	case 1: g1(n); break;
	case 2: return branches(2) + 1;
	case 3: f1(n / 3); break;
	default: tail(n / 3);
	}
	return n + counter;
}

LEVELS_OF(deep, DEEP);

CALL void deep(unsigned long n)
{
	volatile unsigned long local[4];

	local[n & 3] = n;
	if (n > 1)
		deep(n - 1);
	else
		f1(300);
	local[0]++;
}

CALL void abyss_b(unsigned long n);

LEVELS_OF(abyss, ABYSS);

CALL void abyss_a(unsigned long n)
{
	abyss_b(n - 1);
	counter++;
}

CALL void abyss_b(unsigned long n)
{
	volatile unsigned long local[3];

	local[n % 3] = n;
	if (n > 0)
		abyss_a(n - 1);
	else
		g1(6000);
	local[1]++;
}

CALL void on_trap(void)
{
	f3(100);
	counter++;
}

/*
 * As much again as was done since the last one: however fast the machine, half
 * of the time an interrupt is on the stack.
 */
CALL void on_event(void)
{
	unsigned long here = (unsigned long)__builtin_frame_address(0);
	unsigned long cpu = (here - (unsigned long)stacks) / STACK_SIZE;

	do
		g1(1000);
	while (work[cpu] && --work[cpu]);
	platform_end_event(cpu);
	AFTER;
}

CALL void traps(unsigned long n)
{
	volatile unsigned long local[6];

	local[n % 6] = n;
	platform_trap();
	local[2]++;
	trap_first();
	local[1]++;
}

CALL void load(unsigned long cpu)
{
	for (unsigned long n = 0; n < 50; n++) {
		work[cpu]++;
		f1(n);
		g1(n);
		tail(n);
		indirect(n);
		counter += branches(n);
		traps(n);
	}
	f1(500);
}

/* Never returns, and its caller has nothing behind the call. */
CALL __attribute__((noreturn)) void load_for_ever(unsigned long cpu)
{
	for (;;)
		load(cpu);
}

CALL __attribute__((noreturn)) void dive_for_ever(unsigned long cpu)
{
	for (;;) {
		for (int i = 0; i < 40; i++) {
			work[cpu]++;
			deep(DEEP);
		}
		abyss_a(ABYSS - 1);
	}
}

CALL __attribute__((noreturn)) void wait_for_ever(void)
{
	for (;;)
		platform_block();
}

CALL __attribute__((noreturn)) void cpu_main(unsigned long cpu)
{
	if (cpu == 0) {
		platform_start(1);
		platform_start(2);
		platform_start(4);
	}
	if (cpu == 2)
		wait_for_ever();
	platform_start_events(cpu);
	if (cpu == 1)
		dive_for_ever(cpu);
	load_for_ever(cpu);
}
