// SPDX-License-Identifier: BSD-2-Clause
/*
 * Two stacks in turns, whose return addresses were chosen so that both have the same
 * hash, if that is a polynomial of 0x9e3779b97f4a7c15: sum up frame * that number to
 * the power of how many frames follow it.  samehash MS: each is there for so long.
 */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <ucontext.h>

#define SITES  1024
#define SIZE   16 /* bytes of one, and between the functions that spin */
#define LEVELS ((int)(sizeof(by) / sizeof(by[0])))

/* Sites by which the callers' stacks differ, the innermost first. */
static const int by[] = { 16, -50, 57, -27, -16, 57, -108, -38 };

extern char sites[], spin_first[], spin_second[], spun[];

/* A list of what calls what, of which each has an instruction only in which it spins. */
void begin_calls(char **list);

__asm__(".text\n"
	".balign 16\n"
	".globl spin_first, spin_second, begin_calls\n"
	".type spin_first, @function\n"
	"spin_first:\n"
	"	.cfi_startproc\n"
	"	jmp spin_first\n"
	"	.cfi_endproc\n"
	".size spin_first, . - spin_first\n"
	".balign 16\n"
	".type spin_second, @function\n"
	"spin_second:\n"
	"	.cfi_startproc\n"
	"	jmp spin_second\n"
	"	.cfi_endproc\n"
	".size spin_second, . - spin_second\n"
	"spun:	ret\n"
	".balign 16\n"
	".type call_next, @function\n"
	"call_next:\n"
	"	.cfi_startproc\n"
	"sites:\n"
	".rept 1024\n"
	"	add $8, %rdi\n"
	"	call *(%rdi)\n"
	"	ret\n"
	"	.balign 16, 0x90\n"
	".endr\n"
	"	.cfi_endproc\n"
	".size call_next, . - call_next\n"
	".type begin_calls, @function\n"
	"begin_calls:\n"
	"	.cfi_startproc\n"
	"	push %rbx\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	call *(%rdi)\n"
	"	pop %rbx\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size begin_calls, . - begin_calls\n");

/* What spins returns. */
static void on_time(int number, siginfo_t *info, void *context)
{
	greg_t *regs = ((ucontext_t *)context)->uc_mcontext.gregs;

	(void)number;
	(void)info;
	if (regs[REG_RIP] == (greg_t)(uintptr_t)spin_first ||
	    regs[REG_RIP] == (greg_t)(uintptr_t)spin_second)
		regs[REG_RIP] = (greg_t)(uintptr_t)spun;
}

int main(int argc, char **argv)
{
	struct sigaction action = { .sa_sigaction = on_time,
				    .sa_flags = SA_SIGINFO };
	long us = argc > 1 ? 1000 * atol(argv[1]) : 50000;
	const struct itimerval time = { .it_interval.tv_usec = us,
					.it_value.tv_usec = us };
	char *lists[2][LEVELS + 1];
	int i;

	for (i = 0; i < LEVELS; i++) {
		lists[0][LEVELS - 1 - i] = sites + SIZE * (SITES / 2);
		lists[1][LEVELS - 1 - i] = sites + SIZE * (SITES / 2 + by[i]);
	}
	lists[0][LEVELS] = spin_first;
	lists[1][LEVELS] = spin_second;
	if (us <= 0 || us >= 1000000 || sigaction(SIGALRM, &action, NULL) ||
	    setitimer(ITIMER_REAL, &time, NULL)) {
		fputs("samehash MS\n", stderr);
		return 1;
	}
	puts("ready");
	fflush(stdout);
	for (i = 0;; i = !i) {
		/* In one place for both. */
		__asm__ volatile("" : "+r"(i));
		begin_calls(lists[i]);
	}
}
