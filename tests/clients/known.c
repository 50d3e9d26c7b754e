// SPDX-License-Identifier: BSD-2-Clause
/*
 * Known stacks for profilers: known cpu SECONDS spends time below
 * main > outer > middle > spin, and known heap leaks below main > outer > middle >
 * keep, each time as many bytes as nothing else asks for.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PIECE 12345
#define TIMES 1000

static void *kept[TIMES];
volatile unsigned long spun;

static __attribute__((noinline)) void spin(int seconds)
{
	clock_t end = clock() + seconds * CLOCKS_PER_SEC;
	int i;

	while (clock() < end)
		for (i = 0; i < 1000000; i++)
			spun++;
}

static __attribute__((noinline)) void keep(int times)
{
	int i;

	for (i = 0; i < times; i++)
		kept[i] = memset(malloc(PIECE), 1, PIECE);
}

/* No call is the last thing that these do, so that all have a frame. */
static __attribute__((noinline)) void middle(int seconds)
{
	if (seconds)
		spin(seconds);
	else
		keep(TIMES);
	__asm__ volatile("");
}

static __attribute__((noinline)) void outer(int seconds)
{
	middle(seconds);
	__asm__ volatile("");
}

int main(int argc, char **argv)
{
	if (argc < 2)
		return 64;
	outer(strcmp(argv[1], "cpu") == 0 && argc > 2 ? atoi(argv[2]) : 0);
	return kept[0] && spun ? 1 : 0;
}
