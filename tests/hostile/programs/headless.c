// SPDX-License-Identifier: BSD-2-Clause
/*
 * headless: go on without the first thread.  A second one waits, and ends at SIGUSR1; its
 * number is another process's then, which runs another program.  A third one works all
 * the while, and moves code now and then, so that the process is looked at.
 */
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CLONE3   435
#define PAGE     4096UL
#define NOINLINE __attribute__((noinline, noclone, noipa))

static volatile sig_atomic_t ends;
static int to_helper[2];

static void on_signal(int number)
{
	(void)number;
	ends = 1;
}

static void *waiting(void *none)
{
	pid_t tid = (pid_t)syscall(SYS_gettid);

	if (write(to_helper[1], &tid, sizeof(tid)) != sizeof(tid))
		exit(1);
	while (!ends)
		usleep(1000);
	return none;
}

static NOINLINE void headless_work(void)
{
	volatile long i;

	for (i = 0; i < 10000000; i++)
		;
}

static NOINLINE void *working(void *none)
{
	void *code;
	int i;

	for (;;) {
		for (i = 0; i < 50; i++)
			headless_work();
		code = mmap(NULL, PAGE, PROT_READ | PROT_EXEC,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		code = mremap(code, PAGE, 2 * PAGE, MREMAP_MAYMOVE);
		munmap(code, 2 * PAGE);
	}
	return none;
}

/* A child with that number; 0 in itself. */
static pid_t fork_as(pid_t number)
{
	pid_t numbers[] = { number };
	/* clone3(2): struct clone_args, to set_tid and set_tid_size. */
	uint64_t args[10] = { [4] = SIGCHLD, [8] = (uintptr_t)numbers, [9] = 1 };

	return (pid_t)syscall(CLONE3, args, sizeof(args));
}

/* Return true if the process that we are a child of has ended, after a millisecond. */
static bool is_over(void)
{
	struct pollfd fd = { .fd = to_helper[0] };

	return poll(&fd, 1, 1) == 1;
}

/*
 * Have another program run by the thread's number once it has ended.  (As the first thread
 * ends, its end doesn't tell of the process's, as PR_SET_PDEATHSIG would have it.)
 */
static void help(void)
{
	pid_t tid, pid = -1;

	close(to_helper[1]);
	if (read(to_helper[0], &tid, sizeof(tid)) != sizeof(tid))
		exit(1);
	while (pid < 0 && !is_over())
		pid = fork_as(tid);
	if (pid == 0) {
		execlp("sleep", "sleep", "1000", (char *)NULL);
		exit(1);
	}
	while (!is_over())
		;
	if (pid > 0)
		kill(pid, SIGKILL);
	exit(0);
}

int main(void)
{
	pthread_t thread;

	if (pipe(to_helper))
		return 1;
	if (fork() == 0)
		help();
	signal(SIGUSR1, on_signal);
	if (pthread_create(&thread, NULL, waiting, NULL))
		return 1;
	usleep(100000); /* its number is the lower one */
	if (pthread_create(&thread, NULL, working, NULL))
		return 1;
	puts("ready");
	fflush(stdout);
	pthread_exit(NULL);
}
