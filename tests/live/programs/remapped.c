/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Copies its code to memory of its own, in place of what was mapped from its file,
 * as is done for huge pages: all of it, or with "inner" all but the first and the
 * last page.
 */
#include <string.h>
#include <sys/mman.h>

#include "stay.h"

#define PAGE 4096UL

extern const char __executable_start[], etext[];

static NOINLINE __attribute__((aligned(PAGE))) int link1(int x)
{
	return stay(x) + 1;
}

static NOINLINE __attribute__((aligned(PAGE))) int link2(int x)
{
	return link1(x) + 1;
}

static NOINLINE __attribute__((aligned(PAGE))) int link3(int x)
{
	return link2(x) + 1;
}

/* The text is one segment behind the first one's page. */
int main(int argc, char **argv)
{
	int is_inner = argc > 1 && strcmp(argv[1], "inner") == 0;
	char *start = (char *)__executable_start + PAGE, *own;
	size_t size = ((size_t)(etext - start) + PAGE - 1) & ~(PAGE - 1);

	if (is_inner) {
		start += PAGE;
		size -= 2 * PAGE;
	}
	own = mmap(NULL, size, PROT_READ | PROT_WRITE | PROT_EXEC,
		   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (own == MAP_FAILED)
		return 1;
	memcpy(own, start, size);
	if (mprotect(own, size, PROT_READ | PROT_EXEC) ||
	    mremap(own, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, start) ==
		    MAP_FAILED)
		return 1;
	return link3(argc) + 1;
}
