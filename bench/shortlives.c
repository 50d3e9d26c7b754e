// SPDX-License-Identifier: BSD-2-Clause
/* Starts short processes: shortlives A_SECOND SECONDS; 0: one after the other. */
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>

extern char **environ;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void sleep_until(double at)
{
	struct timespec t = { (time_t)at,
			      (long)((at - (double)(time_t)at) * 1e9) };

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
}

int main(int argc, char **argv)
{
	char program[] = "/bin/true", *command[] = { program, NULL };
	double rate = argc > 1 ? atof(argv[1]) : 0, begun = now(), next = begun;
	double seconds = argc > 2 ? atof(argv[2]) : 1;
	unsigned long nr = 0;
	pid_t pid;

	while (now() - begun < seconds) {
		if (rate > 0) {
			sleep_until(next);
			next += 1 / rate;
		}
		if (posix_spawn(&pid, program, NULL, NULL, command, environ))
			return 1;
		waitpid(pid, NULL, 0);
		nr++;
	}
	printf("%lu\n", nr);
	return 0;
}
