// SPDX-License-Identifier: BSD-2-Clause
/*
 * Starts threads, or processes, all the time, each of which whoever traces its starter is
 * to trace, too (clone(2), CLONE_PTRACE): tracedbirths threads|processes.  Each ends
 * soon.
 */
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define STACKS     64
#define STACK_SIZE (64UL << 10)

static volatile unsigned long sink;

static void nap(long us)
{
	const struct timespec time = { 0, us * 1000 };

	/* Threads without a thread pointer of their own have no errno. */
	syscall(SYS_nanosleep, &time, NULL);
}

static __attribute__((noinline)) void born(void)
{
	nap(3000);
	sink++;
}

static int be_born(void *arg)
{
	(void)arg;
	born();
	syscall(SYS_exit, 0);
	return 0;
}

int main(int argc, char **argv)
{
	bool threads = argc < 2 || strcmp(argv[1], "threads") == 0;
	int flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_PTRACE;
	unsigned char *stacks = mmap(NULL, STACKS * STACK_SIZE,
				     PROT_READ | PROT_WRITE,
				     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned long nr;

	if (stacks == MAP_FAILED)
		return 1;
	if (threads)
		flags |= CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM;
	puts("ready");
	fflush(stdout);
	for (nr = 1;; nr++) {
		clone(be_born, stacks + (nr % STACKS + 1) * STACK_SIZE, flags,
		      NULL);
		nap(200);
		while (!threads && waitpid(-1, NULL, WNOHANG | __WALL) > 0)
			;
	}
}
