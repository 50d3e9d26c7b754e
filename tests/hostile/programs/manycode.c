// SPDX-License-Identifier: BSD-2-Clause
/* manycode MAPPINGS THREADS: so many mappings of code, and threads that wait. */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE 4096UL

static void *wait_for_ever(void *arg)
{
	for (;;)
		pause();
	return arg;
}

int main(int argc, char **argv)
{
	int fd = open("/proc/self/exe", O_RDONLY);
	pthread_attr_t attr;
	pthread_t thread;
	long i, nr;
	char *at;

	if (argc != 3)
		return 2;
	nr = atol(argv[1]);
	at = mmap(NULL, (size_t)nr * PAGE, PROT_NONE,
		  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	/* All have one page of the file, so that none is merged with another. */
	for (i = 0; i < nr; i++)
		if (mmap(at + i * (long)PAGE, PAGE, PROT_READ | PROT_EXEC,
			 MAP_PRIVATE | MAP_FIXED, fd, 0) == MAP_FAILED)
			return 1;
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 16384);
	for (i = 0; i < atol(argv[2]); i++)
		if (pthread_create(&thread, &attr, wait_for_ever, NULL))
			return 1;
	puts("ready");
	fflush(stdout);
	return wait_for_ever(NULL) != NULL;
}
