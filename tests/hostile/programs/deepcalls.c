// SPDX-License-Identifier: BSD-2-Clause
/*
 * Once told to by SIGUSR1, start processes of one user that make system calls below deep
 * stacks which are all different; and beside them processes of another
 * user, one after another, that execute a program (this one, without arguments), which
 * makes 50 system calls.  deepcalls DEEP DEPTH SHORT.
 */
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "threads.h"

#define DEEP_USER  65533
#define SHORT_USER 65532
#define BITS       40 /* frames that are of one of two functions */
#define NOINLINE   __attribute__((noinline, noclone, noipa))

/* Writing to it afterwards keeps calls from being jumps. */
static volatile unsigned int sink;
static unsigned long path;

static void left(unsigned int depth);
static void right(unsigned int depth);

static NOINLINE void descend(unsigned int depth)
{
	if (!depth)
		sink += (unsigned int)getppid();
	else if (depth < BITS && path >> depth & 1)
		left(depth - 1);
	else
		right(depth - 1);
	sink = depth;
}

static NOINLINE void left(unsigned int depth)
{
	descend(depth);
	sink = 0;
}

static NOINLINE void right(unsigned int depth)
{
	descend(depth);
	sink = 1;
}

static NOINLINE void late_call(void)
{
	const struct timespec moment = { 0, 1000000 };

	sink += getuid();
	nanosleep(&moment, NULL);
}

/* Start a process of a user, which ends with this one. */
static pid_t start_as(uid_t uid)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	if (setgroups(0, NULL) || setgid(uid) || setuid(uid) ||
	    prctl(PR_SET_PDEATHSIG, SIGKILL))
		_exit(1);
	return 0;
}

static void call_deep(unsigned int depth)
{
	for (path = (unsigned long)getpid() << 20;; path++)
		descend(depth);
}

static int call_late(void)
{
	int i;

	for (i = 0; i < 50; i++)
		late_call();
	return 0;
}

int main(int argc, char **argv)
{
	int i, status, nr_deep, nr_short;

	if (argc != 4)
		return call_late();
	nr_deep = atoi(argv[1]);
	nr_short = atoi(argv[3]);
	wait_to_be_told();
	for (i = 0; i < nr_deep; i++)
		if (start_as(DEEP_USER) == 0)
			call_deep((unsigned int)atoi(argv[2]));
	sleep(2);
	for (i = 0; i < nr_short; i++) {
		if (start_as(SHORT_USER) == 0)
			_exit(execl("/proc/self/exe", "deepcalls", NULL));
		wait(&status);
	}
	puts("done");
	fflush(stdout);
	for (;;)
		pause();
}
