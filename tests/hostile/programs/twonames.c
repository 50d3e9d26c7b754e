// SPDX-License-Identifier: BSD-2-Clause
/*
 * twonames PROCESSES DIR: map code of a file by two names in DIR by turns, and unmap it,
 * and do nothing else.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#define SIZE 4096

static int open_copy(const char *name)
{
	int from = open("/proc/self/exe", O_RDONLY), to;
	char buf[65536];
	ssize_t n;

	to = open(name, O_RDWR | O_CREAT | O_TRUNC, 0755);
	if (from < 0 || to < 0)
		_exit(1);
	while ((n = read(from, buf, sizeof(buf))) > 0)
		if (write(to, buf, (size_t)n) != n)
			_exit(1);
	close(from);
	return to;
}

static void map(int fd)
{
	void *code =
		mmap(NULL, SIZE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);

	if (code == MAP_FAILED || munmap(code, SIZE))
		_exit(1);
}

static void flood(int number)
{
	char one[32], two[32];
	int fds[2];

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	snprintf(one, sizeof(one), "one%d", number);
	snprintf(two, sizeof(two), "two%d", number);
	fds[0] = open_copy(one);
	if (link(one, two))
		_exit(1);
	fds[1] = open(two, O_RDONLY);
	for (;;) {
		map(fds[0]);
		map(fds[1]);
	}
}

int main(int argc, char **argv)
{
	int i;

	if (argc < 3 || chdir(argv[2]))
		return 1;
	for (i = 0; i < atoi(argv[1]); i++)
		if (fork() == 0) {
			fclose(stdout);
			flood(i);
		}
	puts("ready");
	fflush(stdout);
	for (;;)
		pause();
}
