/* SPDX-License-Identifier: BSD-2-Clause */
/* Threads and processes that only wait, and have nothing of libc's. */
#ifndef HOSTILE_BARE_H
#define HOSTILE_BARE_H

#include <sched.h>
#include <stdlib.h>
#include <sys/syscall.h>

#define BARE_THREAD                                                         \
	(CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | \
	 CLONE_SYSVSEM)

/* Start a thread that uses no stack: with that pointer to one, and that as its own. */
static inline void start_bare(char *sp, char *tp)
{
	register long r10 __asm__("r10") = 0;
	register char *r8 __asm__("r8") = tp;
	long ret;

	__asm__ volatile("syscall\n"
			 "test %%rax, %%rax\n"
			 "jnz 2f\n"
			 "1: mov %1, %%eax\n"
			 "syscall\n"
			 "jmp 1b\n"
			 "2:"
			 : "=a"(ret)
			 : "i"(SYS_pause), "0"((long)SYS_clone),
			   "D"(BARE_THREAD | CLONE_SETTLS), "S"(sp), "d"(0L),
			   "r"(r10), "r"(r8)
			 : "rcx", "r11", "memory");
	if (ret < 0)
		exit(1);
}

/*
 * Start what flags of clone(2) say, in the stack where it is called.  Return its number;
 * negative: there is none.
 */
static inline __attribute__((always_inline)) long start_here(long flags)
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
			 : "D"(flags), [pause] "i"(SYS_pause)
			 : "rcx", "r11", "rsi", "rdx", "memory");
	return pid;
}

#endif /* HOSTILE_BARE_H */
