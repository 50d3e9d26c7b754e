// SPDX-License-Identifier: BSD-2-Clause
/*
 * execpaths COUNT: after SIGUSR1 it executes itself so many times, by a path as long as
 * may be, on a page that is not there; then it says "done" and waits.
 */
#include <string.h>
#include <sys/mman.h>

#include "threads.h"

#define PATH "/proc/self/exe"
#define SIZE 4096 /* of the path, with its NUL: PATH_MAX */

/* A file with the path, which stays open. */
static int make_file(void)
{
	char path[SIZE];
	int fd = memfd_create("path", 0);

	memset(path, '/', SIZE);
	memcpy(path + SIZE - sizeof(PATH), PATH, sizeof(PATH));
	if (fd < 0 || write(fd, path, SIZE) != SIZE)
		fail("path");
	return fd;
}

static void execute(int fd, long left)
{
	char file[16], count[24];
	char *const args[] = { "execpaths", count, file, NULL };
	char *path = mmap(NULL, SIZE, PROT_READ, MAP_SHARED, fd, 0);

	if (path == MAP_FAILED)
		fail("mmap");
	snprintf(file, sizeof(file), "%d", fd);
	snprintf(count, sizeof(count), "%ld", left);
	execv(path, args);
	fail("exec");
}

int main(int argc, char **argv)
{
	long left = argc > 1 ? atol(argv[1]) : 0;

	if (argc == 2) {
		int fd = make_file();

		wait_to_be_told();
		execute(fd, left);
	}
	if (argc == 3 && left > 0)
		execute(atoi(argv[2]), left - 1);
	puts("done");
	fflush(stdout);
	wait_here(NULL);
}
