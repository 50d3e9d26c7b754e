// SPDX-License-Identifier: BSD-2-Clause
/* shortthreads NR MS: NR threads that live for MS, each replaced when it has ended. */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define STACK   4096UL
#define OF_EACH 4 /* stacks, so that none is used again too soon */

static struct timespec life;
static volatile long nr_living;

/* It has no thread-local memory of its own: nothing of libc's may use that. */
static int live(void *arg)
{
	(void)arg;
	syscall(SYS_clock_nanosleep, CLOCK_REALTIME, 0, &life, NULL);
	__atomic_sub_fetch(&nr_living, 1, __ATOMIC_SEQ_CST);
	syscall(SYS_exit, 0);
	return 0;
}

int main(int argc, char **argv)
{
	long most = argc == 3 ? atol(argv[1]) : 0, ms, nr;
	char *stacks;

	if (most < 1)
		return 2;
	ms = atol(argv[2]);
	life = (struct timespec){ ms / 1000, ms % 1000 * 1000000 };
	stacks = mmap(NULL, STACK * OF_EACH * (unsigned long)most,
		      PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		      0);
	if (stacks == MAP_FAILED)
		return 1;
	puts("ready");
	fflush(stdout);
	for (nr = 0;; nr = (nr + 1) % (OF_EACH * most)) {
		while (nr_living >= most)
			usleep(100);
		__atomic_add_fetch(&nr_living, 1, __ATOMIC_SEQ_CST);
		if (clone(live, stacks + STACK * (unsigned long)(nr + 1),
			  CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND |
				  CLONE_THREAD | CLONE_SYSVSEM,
			  NULL) < 0) {
			__atomic_sub_fetch(&nr_living, 1, __ATOMIC_SEQ_CST);
			usleep(1000);
		}
	}
}
