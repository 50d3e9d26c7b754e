// SPDX-License-Identifier: BSD-2-Clause
/* Maps memory, touches it, and unmaps it without end: always in the kernel. */
#include <stdio.h>
#include <sys/mman.h>

#define NOINLINE __attribute__((noinline, noclone))
#define SIZE     4096

static NOINLINE void map_and_unmap(void)
{
	char *at = mmap(NULL, SIZE, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		return;
	*at = 1;
	mprotect(at, SIZE, PROT_READ);
	munmap(at, SIZE);
}

int main(void)
{
	puts("ready");
	fflush(stdout);
	for (;;)
		map_and_unmap();
}
