// SPDX-License-Identifier: BSD-2-Clause
/*
 * So many threads, each asleep below so many frames of its own:
 * threads NUMBER FRAMES.  Says "ready" when all of them are there.
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Below the first call there are those of the C library and of the wait. */
#define OTHERS 4

static sem_t asleep;

__attribute__((noinline)) static void down(long frames)
{
	if (frames > 0) {
		down(frames - 1);
	} else {
		sem_post(&asleep);
		for (;;)
			pause();
	}
	__asm__ volatile("" ::: "memory"); /* the call is no jump */
}

static void *begin(void *frames)
{
	down((long)frames);
	return NULL;
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
				   (void *)(frames - OTHERS - 1)))
			return 1;
		sem_wait(&asleep);
	}
	puts("ready");
	fflush(stdout);
	down(frames - OTHERS - 1);
	return 0;
}
