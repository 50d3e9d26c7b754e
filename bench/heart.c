// SPDX-License-Identifier: BSD-2-Clause
/*
 * A program to be stopped: threads that wait below 30 frames, and one that
 * notes the longest time for which it did not run.
 * usage: heart THREADS FILE
 *
 * FILE is shared: its first word is that time in ns.  Whoever sets it to zero
 * starts anew.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define DEPTH      30
#define STACK_SIZE (128 << 10)

static pthread_barrier_t all_wait;

__attribute__((noipa)) static int down(int n)
{
	volatile int here = n;

	if (n > 0)
		return down(n - 1) + here;
	pthread_barrier_wait(&all_wait);
	pause();
	return here;
}

static void *wait_below(void *arg)
{
	down(DEPTH - 5); /* with pause(), this, and two of libc's below */
	return arg;
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static _Noreturn void beat(_Atomic uint64_t *longest)
{
	uint64_t last = now_ns(), now;

	for (;; last = now) {
		now = now_ns();
		if (now - last >
		    atomic_load_explicit(longest, memory_order_relaxed))
			atomic_store_explicit(longest, now - last,
					      memory_order_relaxed);
	}
}

int main(int argc, char **argv)
{
	int nr = argc == 3 ? atoi(argv[1]) : 0, i, fd;
	pthread_attr_t attr;
	pthread_t thread;
	void *shared;

	if (nr < 1 || (fd = open(argv[2], O_RDWR)) < 0) {
		fprintf(stderr, "usage: heart THREADS FILE\n");
		return 2;
	}
	shared = mmap(NULL, sizeof(uint64_t), PROT_READ | PROT_WRITE,
		      MAP_SHARED, fd, 0);
	if (shared == MAP_FAILED) {
		perror(argv[2]);
		return 1;
	}
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_SIZE);
	pthread_barrier_init(&all_wait, NULL, nr > 1 ? nr - 1 : 1);
	for (i = 1; i < nr; i++)
		if (pthread_create(&thread, &attr, wait_below, NULL)) {
			perror("pthread_create");
			return 1;
		}
	beat(shared);
}
