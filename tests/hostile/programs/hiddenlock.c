// SPDX-License-Identifier: BSD-2-Clause
/*
 * Threads wait on stacks that they may not read, while a process that shares their memory changes
 * what else is mapped all the time: whoever asks about the memory waits for that.
 *
 * hiddenlock NR GIB [seen]: so many threads, and so much memory that is changed; their stacks
 * may be read if a third argument is there.  On SIGUSR1 it prints for how many ms it stood
 * still at most.
 */
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>

#include "threads.h"

#define STACK ((size_t)16 << 10)
#define SP    ((size_t)4096 + 256)
#define OWN \
	((size_t)64 << 10) /* of the threads' and of the process' first stack */
#define ADVICE 22          /* MADV_POPULATE_READ, Linux 5.14 */

struct changed {
	char *at;
	size_t size;
};

static volatile sig_atomic_t is_told;

static void tell(int number)
{
	(void)number;
	is_told = 1;
}

/* Change the stack and wait, without a use of it. */
static void *wait_hidden(void *sp)
{
	wait_with_stack(sp);
	return sp;
}

static int change(void *arg)
{
	const struct changed *c = arg;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		mprotect(c->at, c->size, PROT_READ);
		mprotect(c->at, c->size, PROT_READ | PROT_WRITE);
	}
	return 0;
}

static void start_changes(struct changed *c)
{
	char *stack = malloc(OWN);

	c->at = mmap(NULL, c->size, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (c->at == MAP_FAILED || !stack)
		fail("memory");
	madvise(c->at, c->size, MADV_NOHUGEPAGE);
	madvise(c->at, c->size, ADVICE);
	if (clone(change, stack + OWN, CLONE_VM | SIGCHLD, c) < 0)
		fail("clone");
}

/* Stacks one after another, with as much between two of them that may be read. */
static void start_threads(int nr, int is_seen)
{
	char *stacks = mmap(NULL, 2 * STACK * nr, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pthread_attr_t attr;
	pthread_t thread;
	char *at;
	int i;

	if (stacks == MAP_FAILED)
		fail("stacks");
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, OWN);
	for (i = 0; i < nr; i++) {
		at = stacks + 2 * STACK * i;
		memset(at, 1, STACK);
		if (!is_seen)
			mprotect(at, STACK, PROT_NONE);
		if (pthread_create(&thread, &attr, wait_hidden, at + SP))
			fail("thread");
	}
}

static long now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int main(int argc, char **argv)
{
	struct changed changed;
	long last, now, most = 0;

	if (argc < 3)
		return 64;
	signal(SIGUSR1, tell);
	start_threads(atoi(argv[1]), argc > 3);
	changed.size = (size_t)atoi(argv[2]) << 30;
	usleep(200000);
	start_changes(&changed);
	puts("ready");
	fflush(stdout);
	for (last = now_ms(); !is_told; last = now) {
		usleep(2000);
		now = now_ms();
		if (now - last > most)
			most = now - last;
	}
	printf("%ld\n", most);
	return 0;
}
