// SPDX-License-Identifier: BSD-2-Clause
/*
 * Stacks of 1000 frames of one function, whose name is of 16,000 letters:
 * longnames wait THREADS, in so many threads; longnames call, which makes system calls
 * there.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEPTH      1000
#define STACK_SIZE (256 << 10)

#define N10(text)    text text text text text text text text text text
#define N16000(text) N10(N10(N10(text text text text)))

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
	else
		deep(left - 1);
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
