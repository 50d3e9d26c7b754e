// SPDX-License-Identifier: BSD-2-Clause
/* NUMBER processes that wait, each with memory of its own. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	int i, nr = argc > 1 ? atoi(argv[1]) : 1000;
	pid_t parent = getpid(), child = 1;

	for (i = 0; i < nr && child > 0; i++)
		child = fork();
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		while (getppid() == parent)
			pause();
		return 0;
	}
	printf("ready %d\n", child < 0 ? i - 1 : i);
	fflush(stdout);
	for (;;)
		pause();
}
