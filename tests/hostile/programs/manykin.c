// SPDX-License-Identifier: BSD-2-Clause
/*
 * manykin NUMBER: so many children wait, which share its memory and need none of their
 * own; then one more calls getuid(2) fifty times below late_call(), and all end.
 */
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define FLAGS (CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | SIGCHLD)
#define CALLS 50

static volatile uid_t uid;

/* Start a child that does nothing but wait where it is; negative: there is none. */
static inline __attribute__((always_inline)) long start_child(void)
{
	register long pid __asm__("rax") = SYS_clone;
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
			 : "+r"(pid), "+r"(child_tid), "+r"(tls)
			 : "D"(FLAGS), [pause] "i"(SYS_pause)
			 : "rcx", "r11", "rsi", "rdx", "memory");
	return pid;
}

static __attribute__((noinline)) void late_call(void)
{
	uid = getuid();
}

int main(int argc, char **argv)
{
	long number = argc > 1 ? atol(argv[1]) : 0, pid = 0, i;
	long *pids = calloc((size_t)number + 1, sizeof(*pids));
	long nr = 0;
	pid_t late;

	while (pids && nr < number && (pid = start_child()) > 0)
		pids[nr++] = pid;
	if (!pids || nr < number)
		fprintf(stderr, "only %ld children\n", nr);
	late = fork();
	for (i = 0; late == 0 && i < CALLS; i++)
		late_call();
	if (late == 0)
		_exit(0);
	waitpid(late, NULL, 0);
	for (i = 0; i < nr; i++)
		kill((pid_t)pids[i], SIGKILL);
	while (wait(NULL) > 0)
		;
	return 0;
}
