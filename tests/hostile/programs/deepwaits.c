// SPDX-License-Identifier: BSD-2-Clause
/*
 * deepwaits NUMBER DEPTH: so many threads wait, all in one stack of so many frames of
 * 256 bytes: each is started from there, and has no stack of its own.
 */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#define FLAGS                                                               \
	(CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | \
	 CLONE_SYSVSEM)

static volatile int changes;

/* Start a thread that does nothing but wait where it is; negative: there is none. */
static inline __attribute__((always_inline)) long start_thread(void)
{
	register long tid __asm__("rax") = SYS_clone;
	register long child_tid __asm__("r10") = 0;
	register long tls __asm__("r8") = 0;

	__asm__ volatile("mov %%rsp, %%rsi\n\t"
			 "xor %%edx, %%edx\n\t"
			 "syscall\n\t"
			 "test %%eax, %%eax\n\t"
			 "jnz 2f\n"
			 "1:	mov %[pause], %%eax\n\t"
			 "syscall\n\t"
			 "jmp 1b\n"
			 "2:"
			 : "+r"(tid), "+r"(child_tid), "+r"(tls)
			 : "D"(FLAGS), [pause] "i"(SYS_pause)
			 : "rcx", "r11", "rsi", "rdx", "memory");
	return tid;
}

static __attribute__((noinline)) int wait_deep(int depth, long number)
{
	volatile char frame[256];

	frame[0] = (char)changes;
	if (depth > 0)
		return wait_deep(depth - 1, number) + frame[0];
	while (number > 0 && start_thread() > 0)
		number--;
	if (number > 0)
		perror("thread");
	puts(number > 0 ? "failed" : "ready");
	fflush(stdout);
	while (!changes)
		pause();
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 3)
		return wait_deep(atoi(argv[2]), atol(argv[1]));
	fputs("deepwaits NUMBER DEPTH\n", stderr);
	return 1;
}
