// SPDX-License-Identifier: BSD-2-Clause
/*
 * Code that the fake guest "runs": three calls deep, its registers and its stack
 * are copied, to be unwound by this very file's CFI.
 */
#define _GNU_SOURCE
#include "guest.h"

#include <string.h>

#define HIDE(x) __asm__ volatile("" : "+r"(x)::"memory")

__attribute__((noinline, noclone)) int guest_c(struct guest_state *g, int n)
{
	volatile int kept[40];

	kept[n & 31] = n;
	getcontext(&g->context);
	g->sp = (uint64_t)g->context.uc_mcontext.gregs[REG_RSP];
	memcpy(g->bytes, (const void *)g->sp, g->top - g->sp);
	return kept[n & 31];
}

__attribute__((noinline, noclone)) int guest_b(struct guest_state *g, int n)
{
	int m = guest_c(g, n + 1);

	HIDE(m);
	return m + n;
}

__attribute__((noinline, noclone)) int guest_a(struct guest_state *g, int n)
{
	volatile char kept[100];
	int m;

	kept[n & 63] = 1;
	m = guest_b(g, n + kept[n & 63]);
	HIDE(m);
	return m - n;
}

/* The outermost function: it has no caller to return to. */
__attribute__((noinline, noclone)) int guest_start(struct guest_state *g)
{
	int m;

	g->top = (uint64_t)__builtin_frame_address(0) + 64;
	__asm__ volatile(".cfi_undefined rip");
	m = guest_a(g, 1);
	HIDE(m);
	__asm__ volatile(".cfi_offset rip, -8");
	return m;
}

/* What a Linux kernel is found by: where vector 0 leads, and a name. */
__attribute__((noinline, used)) void asm_exc_divide_error(void)
{
	__asm__ volatile("nop");
}

__attribute__((noinline, used)) void schedule(void)
{
	__asm__ volatile("nop");
}

/* And the text of its version, behind the format of the same. */
__attribute__((aligned(8)))
const char linux_banner[128] = "Linux version %s\nLinux version 6.1.0-test "
			       "(builder) (gcc 12.2.0) #1 SMP Debian 6.1.1-1";
