// SPDX-License-Identifier: BSD-2-Clause
/*
 * slowexprs THREADS: threads that wait on one stack of return addresses, into a function
 * whose CFA is an expression that loops: it takes 4,000 operations to say rsp + 8.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define FRAMES 1024

static uint64_t stack[FRAMES + 64];

extern char slow_call[];

/* DW_CFA_def_cfa_expression: breg7 8; const2u 1000; lit1; minus; dup; bra -6; drop. */
__asm__(".text\n"
	".type slow, @function\n"
	"slow:\n"
	".cfi_startproc\n"
	".cfi_escape 0x0f, 12, 0x77, 8, 0x0a, 0xe8, 3, 0x31, 0x1c, 0x12,"
	" 0x28, 0xfa, 0xff, 0x13\n"
	"slow_call:\n"
	"	nop\n"
	"1:	mov $34, %eax\n" /* pause(2) */
	"	syscall\n"
	"	jmp 1b\n"
	".cfi_endproc\n"
	".size slow, . - slow\n");

static void *wait_there(void *arg)
{
	__asm__ volatile("mov %0, %%rsp\n\tjmp *%1"
			 :
			 : "r"(stack), "r"(slow_call)
			 : "memory");
	return arg;
}

int main(int argc, char **argv)
{
	long nr = argc > 1 ? strtol(argv[1], NULL, 0) : 1;
	pthread_attr_t attr;
	pthread_t thread;
	long i;

	for (i = 0; i < FRAMES; i++)
		stack[i] = (uint64_t)slow_call + 1;
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 65536);
	for (i = 0; i < nr; i++)
		if (pthread_create(&thread, &attr, wait_there, NULL))
			return 1;
	puts("ready");
	fflush(stdout);
	for (;;)
		pause();
}
