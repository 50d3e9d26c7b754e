/* SPDX-License-Identifier: BSD-2-Clause */
/* Threads of a hostile program, and its end where it can't be hostile. */
#ifndef HOSTILE_THREADS_H
#define HOSTILE_THREADS_H

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static inline void fail(const char *what)
{
	perror(what);
	exit(1);
}

/* A thread that waits in pause() for ever. */
static inline void *wait_here(void *arg)
{
	for (;;)
		pause();
	return arg;
}

/* Wait for ever with the stack pointer there, without a use of the stack. */
__attribute__((always_inline)) static inline void wait_with_stack(void *sp)
{
	__asm__ volatile("mov %0, %%rsp\n"
			 "1: mov %1, %%eax\n"
			 "syscall\n"
			 "jmp 1b\n"
			 :
			 : "r"(sp), "i"(SYS_pause)
			 : "rax", "rcx", "r11", "memory");
}

/* Say that all is ready, and wait for SIGUSR1. */
static inline void wait_to_be_told(void)
{
	sigset_t told;
	int number;

	sigemptyset(&told);
	sigaddset(&told, SIGUSR1);
	sigprocmask(SIG_BLOCK, &told, NULL);
	puts("ready");
	fflush(stdout);
	sigwait(&told, &number);
}

static inline void start(void *(*run)(void *), void *arg)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, run, arg))
		fail("thread");
}

#endif /* HOSTILE_THREADS_H */
