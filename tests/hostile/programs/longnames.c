// SPDX-License-Identifier: BSD-2-Clause
/*
 * Stacks of 1000 frames of one function, whose name is of 16,000 letters:
 * longnames wait THREADS, in so many threads; longnames call, which makes system calls
 * there; longnames vary, whose calls have stacks that all differ; longnames rush COUNT,
 * which makes so many calls for each SIGUSR1.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEPTH      1000
#define STACK_SIZE (256 << 10)

#define N10(text)    text text text text text text text text text text
#define N16000(text) N10(N10(N10(text text text text)))

/* Two such are not made one. */
#define STAY(value, number) __asm__ volatile("" ::"r"(value), "i"(number))

static pthread_barrier_t all_there;

int deep(int left) __asm__("f_" N16000("aaaa"));

static void call(void)
{
	puts("ready");
	fflush(stdout);
	for (;;) {
		getppid();
		usleep(100);
	}
}

static unsigned int path; /* which of two calls each frame makes */

static unsigned int turn(void)
{
	path = path * 1103515245 + 12345;
	return path >> 16 & 1;
}

static void call_once(void)
{
	getppid();
}

static long count;

static void rush(void)
{
	sigset_t asked;
	long i;
	int sig;

	sigemptyset(&asked);
	sigaddset(&asked, SIGUSR1);
	sigprocmask(SIG_BLOCK, &asked, NULL);
	puts("ready");
	fflush(stdout);
	while (sigwait(&asked, &sig) == 0) {
		for (i = 0; i < count; i++)
			getppid();
		puts("done");
		fflush(stdout);
	}
}

static void wait(void)
{
	pthread_barrier_wait(&all_there);
	for (;;)
		pause();
}

static void (*innermost)(void);

__attribute__((noinline, noclone)) int deep(int left)
{
	if (left == 0)
		innermost();
	else if (turn())
		STAY(deep(left - 1), 1);
	else
		STAY(deep(left - 1), 2);
	__asm__ volatile("" ::: "memory");
	return left;
}

static void *run(void *unused)
{
	(void)unused;
	deep(DEPTH);
	return NULL;
}

int main(int argc, char **argv)
{
	unsigned int nr = argc == 3 ? (unsigned int)atoi(argv[2]) : 0, i;
	pthread_attr_t attr;
	pthread_t thread;

	if (argc == 2 && strcmp(argv[1], "call") == 0) {
		innermost = call;
		run(NULL);
	}
	if (argc == 2 && strcmp(argv[1], "vary") == 0) {
		innermost = call_once;
		puts("ready");
		fflush(stdout);
		for (;;)
			run(NULL);
	}
	if (argc == 3 && strcmp(argv[1], "rush") == 0) {
		innermost = rush;
		count = strtol(argv[2], NULL, 0);
		run(NULL);
	}
	if (nr == 0)
		return 1;
	innermost = wait;
	pthread_barrier_init(&all_there, NULL, nr + 1);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_SIZE);
	for (i = 0; i < nr; i++)
		if (pthread_create(&thread, &attr, run, NULL))
			return 1;
	pthread_barrier_wait(&all_there);
	puts("ready");
	fflush(stdout);
	pause();
	return 0;
}
