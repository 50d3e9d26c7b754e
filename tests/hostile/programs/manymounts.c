// SPDX-License-Identifier: BSD-2-Clause
/*
 * manymounts LEVELS STACKED FILES PROCESSES DIR: in a mount namespace of its own, below
 * DIR, so many folders in one another, on each of which so many mounts lie; and so many
 * processes that have code of so many files mapped from there, whose names are removed.
 * What goes by a name there, or makes one, has all mounts to cross.
 */
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ownspace.h"

/* A copy of this program, mapped as code, without a name. */
static void map_copy(int from, size_t size, long i)
{
	char name[32];
	off_t begin = 0;
	int fd;

	snprintf(name, sizeof(name), "f%ld.so", i);
	fd = open(name, O_RDWR | O_CREAT, 0755);
	if (fd < 0 || sendfile(fd, from, &begin, size) < 0)
		fail(name);
	if (mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) ==
	    MAP_FAILED)
		fail("mmap");
	close(fd);
	unlink(name);
}

static _Noreturn void work(void)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;)
		__asm__ volatile("");
}

int main(int argc, char **argv)
{
	int self = open("/proc/self/exe", O_RDONLY);
	struct stat st;
	long i;

	if (argc < 6 || self < 0 || fstat(self, &st))
		return 1;
	enter_namespaces();
	if (mount("t", argv[5], "tmpfs", 0, NULL) || chdir(argv[5]))
		fail("tmpfs");
	stack_mounts(atol(argv[1]), atol(argv[2]));
	for (i = 0; i < atol(argv[3]); i++)
		map_copy(self, (size_t)st.st_size, i);
	for (i = 1; i < atol(argv[4]); i++)
		if (fork() == 0)
			work();
	puts("ready");
	fflush(stdout);
	work();
}
