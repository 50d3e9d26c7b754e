// SPDX-License-Identifier: BSD-2-Clause
/*
 * deepstack MIB NR: so many threads wait at the low end of a main stack of that size;
 * their thread pointers are elsewhere.  All of the stack looks like signal frames, of
 * handlers that interrupted what ran where no stack can be.
 */
#include <alloca.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "bare.h"

#define LOWEST 8192 /* the threads' sp, above the low end */
#define PAGE   4096
#define MARK   0x33 /* cs of 64-bit code, as frames of signals have it */

static void *map(size_t size, int protection)
{
	void *at = mmap(NULL, size, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			0);

	if (at == MAP_FAILED)
		exit(1);
	return at;
}

/* Its stack has room from the next exec on. */
static void raise_limit(char **argv)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_STACK, &limit) || limit.rlim_cur == limit.rlim_max)
		return;
	limit.rlim_cur = limit.rlim_max;
	if (!setrlimit(RLIMIT_STACK, &limit))
		execv("/proc/self/exe", argv);
	exit(1);
}

/* The frames go down from the high end, as a stack grows. */
static void fill(char *low, size_t size, uint64_t word)
{
	for (size_t at = size; at >= sizeof(word); at -= sizeof(word))
		memcpy(low + at - sizeof(word), &word, sizeof(word));
}

int main(int argc, char **argv)
{
	size_t size;
	char *low, *tp;
	int i;

	if (argc < 3)
		return 64;
	raise_limit(argv);
	size = strtoul(argv[1], NULL, 0) << 20;
	low = alloca(size);
	fill(low, size, (uint64_t)(uintptr_t)map(PAGE, PROT_READ) | MARK);
	tp = map(PAGE, PROT_READ | PROT_WRITE);
	for (i = 0; i < atoi(argv[2]); i++)
		start_bare(low + LOWEST, tp);
	puts("ready");
	fflush(stdout);
	for (;;)
		pause();
}
