// SPDX-License-Identifier: BSD-2-Clause
/*
 * Makes system calls below DEPTH functions: lttng_calls ROUNDS CALLS [followed].
 * Prints the nanoseconds of a call in the quickest round.  With "followed", waits
 * before that until the kunwind module has what it needs of this process.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "followed.h"

#define NOINLINE __attribute__((noinline, noclone))
#define DEPTH    16

static NOINLINE void down(unsigned int depth)
{
	volatile char fill[24];
	long ret;

	fill[0] = (char)depth;
	if (depth > 1)
		down(depth - 1);
	else
		__asm__ volatile("syscall"
				 : "=a"(ret)
				 : "0"((long)SYS_lseek), "D"(-1L), "S"(0L),
				   "d"(0L)
				 : "rcx", "r11", "memory");
	fill[1] = fill[0];
}

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

int main(int argc, char **argv)
{
	unsigned int rounds = argc > 2 ? (unsigned int)atoi(argv[1]) : 0;
	unsigned int calls = argc > 2 ? (unsigned int)atoi(argv[2]) : 0, i;
	uint64_t least = UINT64_MAX, begin, took;

	if (!rounds || !calls) {
		fprintf(stderr, "usage: lttng_calls ROUNDS CALLS [followed]\n");
		return 2;
	}
	if (argc > 3 && !wait_until_followed()) {
		fprintf(stderr, "lttng_calls: nobody follows it\n");
		return 1;
	}
	while (rounds-- > 0) {
		begin = now();
		for (i = 0; i < calls; i++)
			down(DEPTH);
		took = now() - begin;
		least = took < least ? took : least;
	}
	printf("%.1f\n", (double)least / calls);
	return 0;
}
