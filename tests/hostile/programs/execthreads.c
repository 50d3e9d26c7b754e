// SPDX-License-Identifier: BSD-2-Clause
/*
 * execthreads NR US: NR threads, and one that executes the program again after US: all
 * others end then, and it has the process's number from there on.
 */
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char **args;

static void *rest(void *arg)
{
	for (;;)
		pause();
	return arg;
}

static void *execute(void *arg)
{
	usleep((useconds_t)atol(args[2]));
	execv("/proc/self/exe", args);
	perror("execv");
	return arg;
}

int main(int argc, char **argv)
{
	static char again[] = "again";
	char *next[] = { argv[0], argv[1], argv[2], again, NULL };
	pthread_attr_t attr;
	pthread_t thread;
	long i;

	if (argc < 3)
		return 2;
	args = next;
	if (argc == 3) {
		puts("ready");
		fflush(stdout);
	}
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, PTHREAD_STACK_MIN);
	for (i = atol(argv[1]); i > 0; i--)
		pthread_create(&thread, &attr, rest, NULL);
	if (pthread_create(&thread, NULL, execute, NULL))
		return 1;
	rest(NULL);
}
