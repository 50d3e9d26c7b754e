// SPDX-License-Identifier: BSD-2-Clause
/*
 * After SIGUSR1, wait for 2 ms so many times, each time below wait_below() and another
 * one of 256 ways to there.  fewwaits NUMBER.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "threads.h"

#define DEPTH    8
#define NOINLINE __attribute__((noinline, noclone, noipa))

/* Writing to it afterwards keeps calls from being jumps. */
static volatile unsigned int sink;

static void left(unsigned int path, unsigned int depth);
static void right(unsigned int path, unsigned int depth);

static NOINLINE void wait_below(void)
{
	const struct timespec moment = { 0, 2000000 };

	nanosleep(&moment, NULL);
	sink = 0;
}

static NOINLINE void descend(unsigned int path, unsigned int depth)
{
	if (!depth)
		wait_below();
	else if (path & 1)
		left(path >> 1, depth - 1);
	else
		right(path >> 1, depth - 1);
	sink = depth;
}

static NOINLINE void left(unsigned int path, unsigned int depth)
{
	descend(path, depth);
	sink = 0;
}

static NOINLINE void right(unsigned int path, unsigned int depth)
{
	descend(path, depth);
	sink = 1;
}

int main(int argc, char **argv)
{
	unsigned int nr = argc > 1 ? (unsigned int)atoi(argv[1]) : 1;

	wait_to_be_told();
	while (nr--)
		descend(nr, DEPTH);
	puts("done");
	fflush(stdout);
	wait_here(NULL);
}
