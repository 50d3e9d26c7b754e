// SPDX-License-Identifier: BSD-2-Clause
/*
 * Run a command and write what it took to a file: "KiB user-us system-us status".
 * A child of Python begins with all memory that Python has, and Linux counts it.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static long microseconds(struct timeval t)
{
	return t.tv_sec * 1000000 + t.tv_usec;
}

int main(int argc, char **argv)
{
	struct rusage usage;
	int status = 0;
	pid_t child;
	FILE *out;

	if (argc < 3)
		return 2;
	child = fork();
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		execv(argv[2], argv + 2);
		_exit(127);
	}
	if (child < 0 || wait4(child, &status, 0, &usage) != child)
		return 2;
	out = fopen(argv[1], "we");
	if (!out)
		return 2;
	fprintf(out, "%ld %ld %ld %d\n", usage.ru_maxrss,
		microseconds(usage.ru_utime), microseconds(usage.ru_stime),
		status);
	return fclose(out) ? 2 : 0;
}
