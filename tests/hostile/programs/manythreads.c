// SPDX-License-Identifier: BSD-2-Clause
/*
 * manythreads NUMBER [EVERY]: so many threads that wait, beside the main one; one of
 * EVERY waits for a child that shares its memory, where no stop reaches it (vfork(2)).
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

#define STACK_SIZE 16384

static void *wait_here(void *arg)
{
	for (;;)
		pause();
	return arg;
}

static void *wait_for_child(void *arg)
{
	if (vfork() == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		wait_here(arg);
	}
	return arg;
}

int main(int argc, char **argv)
{
	int i, nr = argc > 1 ? atoi(argv[1]) : 0;
	int every = argc > 2 ? atoi(argv[2]) : nr + 1;
	pthread_attr_t attr;
	pthread_t thread;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_SIZE);
	for (i = 0; i < nr; i++) {
		if (pthread_create(&thread, &attr,
				   (i + 1) % every ? wait_here : wait_for_child,
				   NULL)) {
			perror("thread");
			return 1;
		}
	}
	puts("ready");
	fflush(stdout);
	wait_here(NULL);
	return 0;
}
