// SPDX-License-Identifier: BSD-2-Clause
/*
 * chainedthreads NR: so many chains of threads, each of which starts the next one and
 * exits; that waits until it has, as it gets the stack of the one before.
 */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define STACK 8192UL
#define FLAGS                                                               \
	(CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | \
	 CLONE_SYSVSEM | CLONE_CHILD_CLEARTID)

/* Two links take turns: one runs, and one may be ending. */
static struct link {
	volatile int lives; /* the kernel clears it when the thread is gone */
	struct link *other;
	char *stack; /* its high end */
} * links;

static int run(void *arg);

static void start(struct link *link)
{
	link->lives = 1;
	while (clone(run, link->stack, FLAGS, link, NULL, NULL, &link->lives) <
	       0)
		sched_yield();
}

/* It has no thread-local memory of its own: nothing of libc's may use that. */
static int run(void *arg)
{
	struct link *link = arg;

	while (link->other->lives)
		syscall(SYS_sched_yield);
	start(link->other);
	syscall(SYS_exit, 0);
	return 0;
}

int main(int argc, char **argv)
{
	long nr = argc > 1 ? atol(argv[1]) : 0, i;
	char *stacks = mmap(NULL, STACK * 2 * (unsigned long)nr,
			    PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			    -1, 0);

	links = calloc((size_t)nr * 2, sizeof(*links));
	if (nr < 1 || stacks == MAP_FAILED || !links)
		return 1;
	for (i = 0; i < 2 * nr; i++) {
		links[i].other = &links[i ^ 1];
		links[i].stack = stacks + STACK * (unsigned long)(i + 1);
	}
	for (i = 0; i < nr; i++)
		start(&links[2 * i]);
	puts("ready");
	fflush(stdout);
	for (;;)
		pause();
}
