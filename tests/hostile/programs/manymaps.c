// SPDX-License-Identifier: BSD-2-Clause
/*
 * Code in as many mappings as are asked for, none of which can be one with its
 * neighbour, and more of them without end: manymaps NUMBER.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define PAGE 4096UL

/* Pages at which code may run, and others between them. */
static char *map_many(unsigned long nr)
{
	char *at = mmap(NULL, 2 * nr * PAGE, PROT_READ,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned long i;

	if (at == MAP_FAILED)
		return NULL;
	for (i = 0; i < nr; i++)
		if (mprotect(at + 2 * i * PAGE, PAGE, PROT_READ | PROT_EXEC))
			return NULL;
	return at;
}

/* One more, each time elsewhere, and take it away. */
static void map_on(void)
{
	void *at = mmap(NULL, PAGE, PROT_READ | PROT_EXEC,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	volatile unsigned int i;

	for (i = 0; i < 20000; i++)
		;
	if (at != MAP_FAILED)
		munmap(at, PAGE);
}

int main(int argc, char **argv)
{
	unsigned long nr = argc > 1 ? strtoul(argv[1], NULL, 0) : 0;

	if (nr && !map_many(nr)) {
		perror("map");
		return 1;
	}
	puts("ready");
	fflush(stdout);
	for (;;)
		map_on();
}
