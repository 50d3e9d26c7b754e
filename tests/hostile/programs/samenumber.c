// SPDX-License-Identifier: BSD-2-Clause
/*
 * samenumber MS: have a process run asked(); when it ends, have another one, with its
 * number, run another program's other(), and so on.  Each ends after MS, or 0: never.
 */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define CLONE3 435

#define NOINLINE __attribute__((noinline, noclone, noipa))

static volatile unsigned long sink;

static NOINLINE void asked(void)
{
	for (;;)
		sink++;
}

static NOINLINE void other(void)
{
	for (;;)
		sink++;
}

/* A child with that number; 0 in itself. */
static pid_t fork_as(pid_t number)
{
	pid_t numbers[] = { number };
	/* clone3(2): struct clone_args, to set_tid and set_tid_size. */
	uint64_t args[10] = { [4] = SIGCHLD, [8] = (uintptr_t)numbers, [9] = 1 };

	return (pid_t)syscall(CLONE3, args, sizeof(args));
}

/* Also after exec. */
static void end_with_parent(void)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
}

int main(int argc, char **argv)
{
	useconds_t life = argc > 1 ? 1000 * (useconds_t)atoi(argv[1]) : 0;
	pid_t pid;

	ualarm(argc > 2 ? life : 0, 0);
	if (argc > 2)
		other();
	pid = fork();
	if (pid == 0) {
		end_with_parent();
		ualarm(life, 0);
		asked();
	}
	puts("ready");
	fflush(stdout);
	while (waitpid(pid, NULL, 0) == pid) {
		pid = fork_as(pid);
		if (pid == 0) {
			end_with_parent();
			execl("/proc/self/exe", argv[0], argv[1], "other",
			      NULL);
		}
	}
	return 1;
}
