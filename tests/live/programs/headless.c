// SPDX-License-Identifier: BSD-2-Clause
/*
 * Another thread goes on when the first one has ended, after it has computed for
 * some time.  usage: headless MILLISECONDS
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))

static pthread_t first;

static NOINLINE void compute(long ms)
{
	struct timespec begun, now;
	volatile long sum = 0;
	long i;

	clock_gettime(CLOCK_MONOTONIC, &begun);
	do {
		for (i = 0; i < 100000; i++)
			sum += i;
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while (ms < 0 ||
		 (now.tv_sec - begun.tv_sec) * 1000 +
				 (now.tv_nsec - begun.tv_nsec) / 1000000 <
			 ms);
}

static void *going_on(void *arg)
{
	pthread_join(first, NULL);
	if (write(1, "ready\n", 6) != 6)
		return arg;
	compute(-1);
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t other;

	first = pthread_self();
	if (pthread_create(&other, NULL, going_on, NULL))
		return 1;
	compute(argc > 1 ? atol(argv[1]) : 0);
	pthread_exit(NULL);
}
