// SPDX-License-Identifier: BSD-2-Clause
/* manythreads NUMBER: so many threads that wait, beside the main one. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define STACK_SIZE 16384

static void *wait_here(void *arg)
{
	for (;;)
		pause();
	return arg;
}

int main(int argc, char **argv)
{
	int i, nr = argc > 1 ? atoi(argv[1]) : 0;
	pthread_attr_t attr;
	pthread_t thread;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_SIZE);
	for (i = 0; i < nr; i++) {
		if (pthread_create(&thread, &attr, wait_here, NULL)) {
			perror("thread");
			return 1;
		}
	}
	puts("ready");
	fflush(stdout);
	wait_here(NULL);
	return 0;
}
