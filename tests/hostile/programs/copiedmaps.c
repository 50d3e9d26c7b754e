// SPDX-License-Identifier: BSD-2-Clause
/*
 * copiedmaps leased|deleted FILES TIMES MB DIR: map code of so many files in DIR,
 * each so often; each is this program, of so many MB.  No other process can open a
 * leased one, or find a deleted one by its name.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

/* A file of size bytes, of which the first are this program. */
static int make_file(int self, off_t own, size_t size, const char *kind)
{
	char name[32];
	off_t from = 0;
	static int nr;
	int fd;

	snprintf(name, sizeof(name), "file%d", nr++);
	fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0777);
	if (fd < 0 || sendfile(fd, self, &from, (size_t)own) != own ||
	    ftruncate(fd, (off_t)size))
		fail(name);
	if (strcmp(kind, "leased") == 0 ? fcntl(fd, F_SETLEASE, F_WRLCK) :
					  unlink(name))
		fail(kind);
	return fd;
}

int main(int argc, char **argv)
{
	int self = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), i, k, fd;
	size_t size;
	struct stat st;

	if (argc != 6 || chdir(argv[5]) || self < 0 || fstat(self, &st))
		fail("usage: copiedmaps leased|deleted FILES TIMES MB DIR");
	signal(SIGIO, SIG_IGN);
	size = strtoul(argv[4], NULL, 0) << 20;
	if (size < (size_t)st.st_size)
		size = (size_t)st.st_size;
	for (i = 0; i < atoi(argv[2]); i++) {
		fd = make_file(self, st.st_size, size, argv[1]);
		for (k = 0; k < atoi(argv[3]); k++)
			if (mmap(NULL, size, PROT_READ | PROT_EXEC, MAP_PRIVATE,
				 fd, 0) == MAP_FAILED)
				fail("mmap");
	}
	puts("ready");
	fflush(stdout);
	for (;;)
		pause();
}
