// SPDX-License-Identifier: BSD-2-Clause
/*
 * movemuch PROCESSES [children]: so many of them call mremap(2) without end, for all
 * addresses, which moves nothing; or have children do that once each, with their memory.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define ALL (1UL << 47)

static void move(void)
{
	mremap(NULL, ALL, ALL, MREMAP_MAYMOVE);
}

static void have_moved(void)
{
	pid_t pid = vfork();

	if (pid == 0) {
		move();
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

int main(int argc, char **argv)
{
	long nr = argc == 2 || argc == 3 ? atol(argv[1]) : 0;

	if (nr < 1)
		return 2;
	puts("ready");
	fflush(stdout);
	while (--nr > 0)
		if (fork() == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			break;
		}
	for (;;)
		argc == 3 ? have_moved() : move();
}
