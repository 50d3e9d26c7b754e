// SPDX-License-Identifier: BSD-2-Clause
/*
 * longcode DIR NR THREADS: so many mappings of code with a path of nearly 4 KiB, and one
 * that is mapped anew without end, while so many threads wait.
 */
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "threads.h"

#define PAGE  4096UL
#define DEPTH 19

/* Below the working directory. */
static int make_file(void)
{
	char name[201];
	int i, fd;

	memset(name, 'd', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	for (i = 0; i < DEPTH; i++)
		if (mkdir(name, 0755) || chdir(name))
			fail("folder");
	fd = open("file", O_RDWR | O_CREAT | O_CLOEXEC, 0755);
	if (fd < 0 || ftruncate(fd, 2 * PAGE))
		fail("file");
	return fd;
}

/* Neighbours have different parts of the file, and stay apart. */
static void map_code(char *at, int fd, size_t i)
{
	if (mmap(at, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, fd,
		 (off_t)(i % 2 * PAGE)) == MAP_FAILED)
		fail("code");
}

int main(int argc, char **argv)
{
	size_t nr, i;
	char *base;
	int fd;

	if (argc < 4 || chdir(argv[1]))
		return 64;
	nr = strtoul(argv[2], NULL, 0);
	fd = make_file();
	base = mmap(NULL, 2 * PAGE * (nr + 1), PROT_NONE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (base == MAP_FAILED)
		fail("room");
	for (i = 0; i < nr; i++)
		map_code(base + 2 * PAGE * i, fd, i);
	for (i = 0; i < strtoul(argv[3], NULL, 0); i++)
		start(wait_here, NULL);
	puts("ready");
	fflush(stdout);
	for (i = 0;; i++)
		map_code(base + 2 * PAGE * nr, fd, i);
}
