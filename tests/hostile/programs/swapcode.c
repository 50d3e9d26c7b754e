// SPDX-License-Identifier: BSD-2-Clause
/*
 * swapcode THREADS TIMES: map one page of code and another one in turns at one
 * address, and run a function of it TIMES round a loop; beside THREADS threads that
 * wait.  Where one page has the function that runs, the other has one that never does.
 */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include "swapspin.h"

static void run(int fd, const void *page, size_t off, long times)
{
	map_page(fd, page);
	((void (*)(long))(uintptr_t)(AT + off))(times);
}

static void *wait_for_ever(void *arg)
{
	for (;;)
		pause();
	return arg;
}

int main(int argc, char **argv)
{
	int fd = open("/proc/self/exe", O_RDONLY), i;
	pthread_attr_t attr;
	pthread_t thread;

	if (argc != 3 ||
	    (uint8_t *)never_first != (uint8_t *)spin_first + HALF ||
	    (uint8_t *)spin_second != (uint8_t *)never_second + HALF)
		return 2;
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 16384);
	for (i = 0; i < atoi(argv[1]); i++)
		if (pthread_create(&thread, &attr, wait_for_ever, NULL))
			return 1;
	puts("ready");
	fflush(stdout);
	for (;;) {
		run(fd, spin_first, 0, atol(argv[2]));
		run(fd, never_second, HALF, atol(argv[2]));
	}
}
