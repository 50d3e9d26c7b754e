// SPDX-License-Identifier: BSD-2-Clause
/*
 * longpath DEPTH NUMBER DIR: map so often code of a file that so many folders of 255
 * letters lead to, below DIR, and remove them: the kernel tells their names still.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define SIZE 4096

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static char name[256];

static void go_down(int depth)
{
	memset(name, 'd', sizeof(name) - 1);
	for (; depth > 0; depth--)
		if (mkdir(name, 0777) || chdir(name))
			fail("folder");
}

static void remove_all(int depth)
{
	unlink("file");
	for (; depth > 0; depth--)
		if (chdir("..") || rmdir(name))
			fail("remove");
}

int main(int argc, char **argv)
{
	int fd, i, nr, more;

	if (argc != 4 || chdir(argv[3]))
		fail("usage: longpath DEPTH NUMBER DIR");
	go_down(atoi(argv[1]));
	fd = open("file", O_RDWR | O_CREAT, 0777);
	if (fd < 0 || ftruncate(fd, 2 * SIZE))
		fail("file");
	/* Two that are alike would be one. */
	for (i = 0, nr = atoi(argv[2]); i < nr; i++) {
		more = i % 2 ? PROT_WRITE : 0;
		if (mmap(NULL, SIZE, PROT_READ | PROT_EXEC | more, MAP_PRIVATE,
			 fd, 0) == MAP_FAILED)
			fail("mmap");
	}
	remove_all(atoi(argv[1]));
	puts("ready");
	fflush(stdout);
	for (;;)
		pause();
}
