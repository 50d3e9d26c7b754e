/* SPDX-License-Identifier: BSD-2-Clause */
/* Signal handlers, one scene per argument. */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "stay.h"
#ifdef __GLIBC__ /* musl has no makecontext() */
#include "swapped.h"
#endif

#ifdef __i386__
#define RETURN_ADDRESS "8"
#else
#define RETURN_ADDRESS "16"
#endif

/* The fault is at the very first byte: a look-up at pc - 1 would be wrong. */
__asm__(".text\n"
	".globl before_first\n"
	".type before_first, @function\n"
	"before_first:\n"
	".cfi_startproc\n"
	".cfi_undefined " RETURN_ADDRESS "\n"
	"nop\n"
	".cfi_endproc\n"
	".size before_first, . - before_first\n"
	".globl first_insn\n"
	".type first_insn, @function\n"
	"first_insn:\n"
	".cfi_startproc\n"
	"ud2\n"
	"ret\n"
	".cfi_endproc\n"
	".size first_insn, . - first_insn\n");

extern void first_insn(void);

static void (*volatile nowhere)(void);
static volatile int zero;

static void on_signal(int sig)
{
	stay(sig);
}

static NOINLINE int divide(int x)
{
	return x / zero;
}

static void on_first_of_two(int sig)
{
	divide(sig);
	stay(sig);
}

static NOINLINE int store_to_null(int x)
{
	*(volatile int *)(long)zero = x;
	return x;
}

static NOINLINE int call_null(int x)
{
	nowhere();
	return x;
}

static void handle(int sig, void (*handler)(int), int flags)
{
	struct sigaction sa = { .sa_handler = handler, .sa_flags = flags };

	sigaction(sig, &sa, NULL);
}

static void take_altstack(void)
{
	stack_t ss = { .ss_size = 65536 };

	ss.ss_sp = malloc(ss.ss_size);
	sigaltstack(&ss, NULL);
}

static NOINLINE int run_over(int depth)
{
	volatile char room[4096];

	room[0] = (char)depth;
	return run_over(depth + 1) + room[0];
}

static void *in_thread(void *arg)
{
	take_altstack();
	handle(SIGSEGV, on_signal, SA_ONSTACK);
	store_to_null(1);
	return arg;
}

#ifdef __GLIBC__
static void coroutine(void)
{
	store_to_null(1);
}
#endif

int main(int argc, char **argv)
{
	const char *scene = argc > 1 ? argv[1] : "";
	pthread_t thread;

	if (strcmp(scene, "plain") == 0) {
		handle(SIGSEGV, on_signal, 0);
		return store_to_null(1);
	}
	if (strcmp(scene, "siginfo") == 0) {
		handle(SIGSEGV, on_signal, SA_SIGINFO);
		return store_to_null(1);
	}
	if (strcmp(scene, "altstack") == 0) {
		take_altstack();
		handle(SIGSEGV, on_signal, SA_ONSTACK);
		return store_to_null(1);
	}
	if (strcmp(scene, "thread-altstack") == 0) {
		pthread_create(&thread, NULL, in_thread, NULL);
		pthread_join(thread, NULL);
	}
	if (strcmp(scene, "nested") == 0) {
		handle(SIGSEGV, on_first_of_two, 0);
		handle(SIGFPE, on_signal, 0);
		return store_to_null(1);
	}
	/* The first on the altstack, the second on top of it. */
	if (strcmp(scene, "nested-altstack") == 0) {
		take_altstack();
		handle(SIGSEGV, on_first_of_two, SA_ONSTACK);
		handle(SIGFPE, on_signal, SA_ONSTACK);
		return store_to_null(1);
	}
	if (strcmp(scene, "null-call") == 0) {
		handle(SIGSEGV, on_signal, 0);
		return call_null(1);
	}
	if (strcmp(scene, "first-insn") == 0) {
		handle(SIGILL, on_signal, 0);
		first_insn();
		return 1;
	}
#ifdef __GLIBC__
	if (strcmp(scene, "coroutine") == 0) {
		take_altstack();
		handle(SIGSEGV, on_signal, SA_ONSTACK);
		return swapped(coroutine);
	}
#endif
	if (strcmp(scene, "overflow") == 0) {
		take_altstack();
		handle(SIGSEGV, on_signal, SA_ONSTACK);
		return run_over(1);
	}
	return 64;
}
