// SPDX-License-Identifier: BSD-2-Clause
/*
 * costlyrows NUMBER: so many threads spin below a thousand return addresses that change all
 * the time.  All are in the code of one FDE, whose 4 KB of instructions run anew for each;
 * its CFA is an expression, which the kernel's tables leave to the CFI.
 */
#include <stdint.h>
#include <string.h>

#include "threads.h"

#define CALLERS 1000
#define SKIPPED \
	(4096 / 8 * 2) /* words below the callers, for the functions called */
#define AREA (1 << 16)
#define CODE 0x40000
#define EDGE 64

__asm__(".text\n"
	".globl costly\n"
	".type costly, @function\n"
	"costly:\n"
	".cfi_startproc\n"
	/* DW_CFA_remember_state, DW_CFA_restore_state */
	".rept 2040\n"
	".cfi_escape 0x0a, 0x0b\n"
	".endr\n"
	/* DW_CFA_def_cfa_expression: breg7 + 0; lit4; lit4; plus; plus */
	".cfi_escape 0x0f, 0x06, 0x77, 0x00, 0x34, 0x34, 0x22, 0x22\n"
	".skip 0x40000, 0x90\n"
	".cfi_endproc\n"
	".size costly, . - costly\n");

extern char costly[];

static __thread volatile uint64_t *callers;
static __thread uint64_t rest;

static uint64_t some_caller(void)
{
	rest ^= rest << 13;
	rest ^= rest >> 7;
	rest ^= rest << 17;
	return (uintptr_t)costly + EDGE + (rest >> 11) % (CODE - 2 * EDGE);
}

__attribute__((noinline, noreturn, used)) void spin_below(void)
{
	int i;

	for (;;) {
		for (i = 0; i < CALLERS; i++)
			callers[i] = some_caller();
		for (volatile int k = 0; k < 3000; k++)
			;
	}
}

static void *run(void *seed)
{
	uint64_t *area = aligned_alloc(4096, AREA);

	if (!area)
		fail("memory");
	memset(area, 0, AREA);
	callers = area + SKIPPED + 1;
	rest = (uintptr_t)seed * 0x9e3779b97f4a7c15 + 1;
	for (int i = 0; i < CALLERS; i++)
		callers[i] = some_caller();
	__asm__ volatile("mov %0, %%rsp\n\t"
			 "jmp spin_below"
			 :
			 : "r"(callers));
	return NULL;
}

int main(int argc, char **argv)
{
	long i, nr = argc > 1 ? atol(argv[1]) : 1;

	for (i = 1; i <= nr; i++)
		start(run, (void *)i);
	puts("ready");
	fflush(stdout);
	for (;;)
		pause();
}
