// SPDX-License-Identifier: BSD-2-Clause
/*
 * So many threads, each asleep below so many frames of its own: threads NUMBER
 * FRAMES [FILE].  Says "ready" when all of them are there.
 *
 * With a FILE, the main thread stays awake and notes in its first word for how
 * long, in ns, it was kept from running at most.  Who sets that to zero starts
 * anew.
 */
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

/* Frames that are there besides: the wait, and below who calls. */
#define OF_THREADS 4
#define OF_MAIN    5

static sem_t asleep;
static volatile int forever = 1;

__attribute__((noinline)) static void down(long frames)
{
	if (frames > 0) {
		down(frames - 1);
	} else {
		sem_post(&asleep);
		while (forever)
			pause();
	}
	__asm__ volatile("" ::: "memory"); /* the call is no jump */
}

static void *begin(void *frames)
{
	down((long)frames);
	return NULL;
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static void stay_awake(const char *path)
{
	int fd = open(path, O_RDWR);
	_Atomic uint64_t *longest = mmap(NULL, sizeof(*longest),
					 PROT_READ | PROT_WRITE, MAP_SHARED, fd,
					 0);
	uint64_t last = now_ns(), now;

	if (longest == MAP_FAILED)
		exit(1);
	for (;; last = now) {
		now = now_ns();
		if (now - last > atomic_load(longest))
			atomic_store(longest, now - last);
	}
}

int main(int argc, char **argv)
{
	long nr = argc > 2 ? strtol(argv[1], NULL, 10) : 1;
	long frames = argc > 2 ? strtol(argv[2], NULL, 10) : 30;
	pthread_attr_t attr;
	pthread_t thread;

	sem_init(&asleep, 0, 0);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 1 << 18);
	for (long i = 1; i < nr; i++) {
		if (pthread_create(&thread, &attr, begin,
				   (void *)(frames - OF_THREADS - 1)))
			return 1;
		sem_wait(&asleep);
	}
	puts("ready");
	fflush(stdout);
	if (argc > 3)
		stay_awake(argv[3]);
	down(frames - OF_MAIN - 1);
	return 0;
}
