/* SPDX-License-Identifier: BSD-2-Clause */
/* Keeps all CPUs busy so many functions deep, for a minute: depths DEPTH. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define BENCH_DEPTH 1024
#include "stacks.h"

static struct bench_path path;

/* Long beside what leads to it: it is what a sample finds. */
static unsigned long spin(const struct bench_path *p, unsigned int i)
{
	volatile unsigned long sum = 0;
	int n;

	(void)p;
	for (n = 0; n < 100000; n++)
		sum += i;
	return sum;
}

static void *thread(void *arg)
{
	for (;;)
		path.next[0](&path, 1);
	return arg;
}

int main(int argc, char **argv)
{
	long others = sysconf(_SC_NPROCESSORS_ONLN) - 1;
	unsigned int depth, i;
	pthread_t id;

	depth = argc > 1 ? (unsigned int)strtoul(argv[1], NULL, 0) : 0;
	if (depth < 1 || depth > BENCH_DEPTH) {
		fprintf(stderr, "usage: depths FUNCTIONS\n");
		return 1;
	}
	srand(1);
	for (i = 0; i + 1 < depth; i++)
		path.next[i] = functions_omit[rand() % BENCH_FUNCTIONS];
	path.next[i] = spin;
	alarm(60);
	while (others-- > 0)
		if (pthread_create(&id, NULL, thread, NULL))
			return 1;
	return thread(NULL) != NULL;
}
