/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Never rests: in a chain of frames of many shapes, in a signal handler and in
 * a library's call back, by two threads.  Which function calls which is what
 * the test knows.
 */
#include <alloca.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOINLINE __attribute__((noinline, noclone))

static volatile unsigned long sink;

static NOINLINE int spin(int n)
{
	int i;

	for (i = 0; i < 200 + n; i++)
		sink += (unsigned long)i;
	return (int)sink;
}

static NOINLINE int plain(int n)
{
	return spin(n + 1) * 3 + n;
}

static NOINLINE int saving(int n)
{
	int a = plain(n), b = plain(a & 7), c = plain(b & 7);

	return plain(c & 7) + a * b + c;
}

static NOINLINE int large(int n)
{
	volatile char room[5000];

	/* All its pages are there then: nothing can copy what isn't. */
	room[0] = room[2500] = room[4999] = (char)n;
	room[n & 1023] = (char)n;
	return saving(room[n & 1023] & 7) + room[1];
}

static NOINLINE int varying(int n)
{
	volatile char *room = alloca((size_t)(n & 7) * 100 + 16);

	room[n & 7] = (char)n;
	return large(room[n & 7] & 7) + room[0];
}

static NOINLINE int aligned(int n)
{
	volatile char room[128] __attribute__((aligned(64)));
	volatile char *more = alloca((size_t)(n & 7) * 64 + 16);

	room[n & 127] = more[n & 7] = (char)n;
	return varying(room[n & 127] & 7) + more[0];
}

static NOINLINE int compare(const void *a, const void *b)
{
	return aligned(3) ? *(const int *)a - *(const int *)b : 0;
}

static NOINLINE int sorting(int n)
{
	int v[4] = { 3, n, 1, 2 };

	qsort(v, 4, sizeof(v[0]), compare);
	return v[0];
}

static void handler(int signal_nr)
{
	sorting(signal_nr);
}

static NOINLINE int signalled(int n)
{
	raise(SIGUSR1);
	return spin(n);
}

static NOINLINE int forever(int n)
{
	for (;;)
		n = (sorting(n & 7) + signalled(n & 7)) & 7;
	return n + 1;
}

static void *thread(void *arg)
{
	sink += (unsigned long)forever(2);
	return arg;
}

int main(void)
{
	struct sigaction action = { .sa_handler = handler };
	pthread_t id;

	sigaction(SIGUSR1, &action, NULL);
	if (pthread_create(&id, NULL, thread, NULL))
		return 1;
	puts("ready");
	fflush(stdout);
	return forever(1) + 1;
}
