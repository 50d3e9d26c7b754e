/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Waits where it is told to: waits.c FIFO, which orders come from.  One thread
 * waits for ever.  Each order is answered by a line before the next wait:
 *
 *	h, t  wait here, or there, for the next order
 *	n     naps; the line has the nanoseconds that they took by the clock
 *	s     a thread that waits a little and ends
 *	v     waits in vfork(), whose child takes one more order, to end
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))
#define STAY()   __asm__ volatile("" ::: "memory") /* no tail call */
#define NAPS     20
#define NAP                \
	{                  \
		0, 2000000 \
	}

static volatile int times_here, times_there; /* no function like the other */

static NOINLINE char waiting_here(int fd)
{
	char order = 0;

	times_here++;
	if (read(fd, &order, 1) != 1)
		exit(1);
	STAY();
	return order;
}

static NOINLINE char waiting_there(int fd)
{
	char order = 0;

	times_there++;
	if (read(fd, &order, 1) != 1)
		exit(1);
	STAY();
	return order;
}

static NOINLINE void waiting_for_ever(void)
{
	for (;;) {
		pause();
		STAY();
	}
}

static void *idle(void *arg)
{
	waiting_for_ever();
	return arg;
}

static NOINLINE void napping(void)
{
	const struct timespec nap = NAP;

	nanosleep(&nap, NULL);
	STAY();
}

static void *short_lived(void *arg)
{
	napping();
	return arg;
}

static long long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static NOINLINE long long nap_often(void)
{
	long long before, sum = 0;
	int i;

	for (i = 0; i < NAPS; i++) {
		before = now();
		napping();
		sum += now() - before;
	}
	return sum;
}

static NOINLINE void waiting_in_vfork(int fd)
{
	pid_t child = vfork();
	char order;

	if (child == 0) {
		if (read(fd, &order, 1) != 1)
			_exit(1);
		_exit(0);
	}
	waitpid(child, NULL, 0);
}

static void run_thread(void *(*run)(void *arg), const char *name)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, run, NULL))
		exit(1);
	pthread_setname_np(thread, name);
	if (run == short_lived)
		pthread_join(thread, NULL);
}

int main(int argc, char **argv)
{
	char order, place = 'h';
	int fd;

	if (argc < 2)
		return 2;
	fd = open(argv[1], O_RDWR); /* so that it has a writer */
	run_thread(idle, "idle");
	puts("ready");
	for (;;) {
		fflush(stdout);
		order = place == 'h' ? waiting_here(fd) : waiting_there(fd);
		if (order == 's')
			run_thread(short_lived, "short");
		else if (order == 'v')
			waiting_in_vfork(fd);
		else if (order != 'n')
			place = order;
		printf("done %lld\n", order == 'n' ? nap_often() : 0);
	}
}
