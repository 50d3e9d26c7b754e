// SPDX-License-Identifier: BSD-2-Clause
/*
 * widestack GIB NR: so many threads wait near the begin of one mapping of that size,
 * which is all of pages of zeros, and may not be read; their thread pointers are near
 * its end, where a stack's base would be.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bare.h"
#include <unistd.h>

#define HUGE ((size_t)2 << 20)
#define PAGE 4096

int main(int argc, char **argv)
{
	size_t size, at;
	int i;
	char *base;

	if (argc < 3)
		return 64;
	size = strtoul(argv[1], NULL, 0) << 30;
	base = mmap(NULL, size, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (base == MAP_FAILED)
		return 1;
	madvise(base, size, MADV_HUGEPAGE);
	for (at = 0; at < size; at += HUGE)
		*(volatile char *)(base + at);
	mprotect(base, size, PROT_NONE);
	for (i = 0; i < atoi(argv[2]); i++)
		start_bare(base + 2 * HUGE + (size_t)i * PAGE,
			   base + size - PAGE);
	puts("ready");
	fflush(stdout);
	for (;;)
		pause();
}
