// SPDX-License-Identifier: BSD-2-Clause
/*
 * Short waits below ever new stacks: a number chooses by its bits which of two
 * functions calls which, 50 times.  manywaits THREADS.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define NOINLINE __attribute__((noinline, noclone, noipa))
#define DEPTH    50
#define STACK    32768

static void left(uint64_t path, unsigned int depth);
static void right(uint64_t path, unsigned int depth);

/* Writing to it afterwards keeps calls from being jumps. */
static volatile unsigned int sink;

static void descend(uint64_t path, unsigned int depth)
{
	const struct timespec moment = { 0, 1000 };

	if (!depth)
		nanosleep(&moment, NULL);
	else if (path & 1)
		left(path >> 1, depth - 1);
	else
		right(path >> 1, depth - 1);
	sink = depth;
}

static NOINLINE void left(uint64_t path, unsigned int depth)
{
	descend(path, depth);
	sink = 0;
}

static NOINLINE void right(uint64_t path, unsigned int depth)
{
	descend(path, depth);
	sink = 1;
}

static void *wait_often(void *seed)
{
	uint64_t path = (uintptr_t)seed * 0x9e3779b97f4a7c15u + 1;

	for (;;) {
		path = path * 6364136223846793005u + 1442695040888963407u;
		left(path >> 8, DEPTH);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	uintptr_t nr = argc > 1 ? strtoul(argv[1], NULL, 0) : 1;
	pthread_attr_t attr;
	pthread_t thread;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK);
	while (--nr > 0)
		if (pthread_create(&thread, &attr, wait_often, (void *)nr))
			return 1;
	puts("ready");
	fflush(stdout);
	wait_often(NULL);
	return 0;
}
