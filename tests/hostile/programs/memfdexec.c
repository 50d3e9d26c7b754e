// SPDX-License-Identifier: BSD-2-Clause
/*
 * Runs itself from a memory file of so many MiB, again and again, each time in a new
 * process and from a new file, for as short a time as samples need to hit it:
 * memfdexec NUMBER MIB USER.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define BUSY_NS 60000000L
#define MIB     (1UL << 20)

static volatile unsigned long sink;

static long cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return now.tv_sec * 1000000000L + now.tv_nsec;
}

/* Our program, and bytes after it that are really there. */
static int make_file(size_t size)
{
	int own = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	int fd = memfd_create("program", MFD_CLOEXEC);
	char *bytes;

	if (own < 0 || fd < 0 || sendfile(fd, own, NULL, size) <= 0 ||
	    ftruncate(fd, (off_t)size))
		return -1;
	bytes = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (bytes == MAP_FAILED)
		return -1;
	memset(bytes + size / 2, 1, size / 2);
	munmap(bytes, size);
	close(own);
	return fd;
}

static void run(size_t size)
{
	char *args[] = { "memfdexec", NULL }, *env[] = { NULL };
	int fd = make_file(size);

	if (fd >= 0)
		fexecve(fd, args, env);
	_exit(1);
}

int main(int argc, char **argv)
{
	unsigned long nr, i;
	int status;

	if (argc < 2) {
		while (cpu_ns() < BUSY_NS)
			sink++;
		return 0;
	}
	if (argc < 4 || setuid((uid_t)strtoul(argv[3], NULL, 0)))
		return 1;
	nr = strtoul(argv[1], NULL, 0);
	for (i = 0; i < nr; i++) {
		if (fork() == 0)
			run(strtoul(argv[2], NULL, 0) * MIB);
		if (wait(&status) < 0 || status != 0)
			return 1;
	}
	puts("done");
	fflush(stdout);
	pause();
	return 0;
}
