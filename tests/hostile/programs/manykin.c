// SPDX-License-Identifier: BSD-2-Clause
/*
 * manykin NUMBER: so many children wait, which share its memory and need none of their
 * own; then one more calls getuid(2) fifty times below late_call(), and all end.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bare.h"

#define FLAGS (CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | SIGCHLD)
#define CALLS 50

static volatile uid_t uid;

static __attribute__((noinline)) void late_call(void)
{
	uid = getuid();
}

int main(int argc, char **argv)
{
	long number = argc > 1 ? atol(argv[1]) : 0, pid = 0, i;
	long *pids = calloc((size_t)number + 1, sizeof(*pids));
	long nr = 0;
	pid_t late;

	while (pids && nr < number && (pid = start_here(FLAGS)) > 0)
		pids[nr++] = pid;
	if (!pids || nr < number)
		fprintf(stderr, "only %ld children\n", nr);
	late = fork();
	for (i = 0; late == 0 && i < CALLS; i++)
		late_call();
	if (late == 0)
		_exit(0);
	waitpid(late, NULL, 0);
	for (i = 0; i < nr; i++)
		kill((pid_t)pids[i], SIGKILL);
	while (wait(NULL) > 0)
		;
	return 0;
}
