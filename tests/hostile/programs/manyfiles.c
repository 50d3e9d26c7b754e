// SPDX-License-Identifier: BSD-2-Clause
/*
 * Maps code of as many files as are asked for, and then never rests, or only that:
 * manyfiles NUMBER [USER [rest]].
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE 4096UL

static volatile unsigned long sink;

/* A file like no other one, and its code. */
static int map_file(unsigned long number)
{
	int fd = memfd_create("code", MFD_CLOEXEC);
	void *code = MAP_FAILED;

	if (fd < 0)
		return -1;
	if (write(fd, &number, sizeof(number)) == sizeof(number) &&
	    !ftruncate(fd, PAGE))
		code = mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd,
			    0);
	close(fd);
	return code == MAP_FAILED ? -1 : 0;
}

int main(int argc, char **argv)
{
	unsigned long i, nr = argc > 1 ? strtoul(argv[1], NULL, 0) : 0;

	if (argc > 2 && setuid((uid_t)strtoul(argv[2], NULL, 0))) {
		perror("setuid");
		return 1;
	}
	for (i = 0; i < nr; i++)
		if (map_file(i)) {
			perror("map");
			return 1;
		}
	puts("ready");
	fflush(stdout);
	for (;;)
		if (argc > 3)
			pause();
		else
			sink++;
}
