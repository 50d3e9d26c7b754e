// SPDX-License-Identifier: BSD-2-Clause
/*
 * splitmaps HOLES: map code of a file again and again, with so many pages of code of no
 * file in it, so that there are more ranges than were mapped.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

#define PAGE  4096
#define RUN_S 0.05

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
	size_t holes = argc == 2 ? strtoul(argv[1], NULL, 10) : 0;
	size_t size = (2 * holes + 1) * PAGE, i;
	int fd = open("/proc/self/exe", O_RDONLY);
	double until;
	char *code;

	puts("ready");
	fflush(stdout);
	for (;;) {
		code = mmap(NULL, size, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd,
			    0);
		if (code == MAP_FAILED)
			return 1;
		for (i = 0; i < holes; i++)
			if (mmap(code + (2 * i + 1) * PAGE, PAGE,
				 PROT_READ | PROT_EXEC,
				 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
				 0) == MAP_FAILED)
				return 1;
		for (until = seconds() + RUN_S; seconds() < until;)
			;
		if (munmap(code, size))
			return 1;
	}
}
