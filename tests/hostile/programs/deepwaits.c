// SPDX-License-Identifier: BSD-2-Clause
/*
 * deepwaits NUMBER DEPTH: so many threads wait, all in one stack of so many frames of
 * 256 bytes: each is started from there, and has no stack of its own.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "bare.h"

static volatile int changes;

static __attribute__((noinline)) int wait_deep(int depth, long number)
{
	volatile char frame[256];

	frame[0] = (char)changes;
	if (depth > 0)
		return wait_deep(depth - 1, number) + frame[0];
	while (number > 0 && start_here(BARE_THREAD) > 0)
		number--;
	if (number > 0)
		perror("thread");
	puts(number > 0 ? "failed" : "ready");
	fflush(stdout);
	while (!changes)
		pause();
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 3)
		return wait_deep(atoi(argv[2]), atol(argv[1]));
	fputs("deepwaits NUMBER DEPTH\n", stderr);
	return 1;
}
