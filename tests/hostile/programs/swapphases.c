// SPDX-License-Identifier: BSD-2-Clause
/*
 * swapphases THREADS MS: THREADS threads wait for MS in a function of one page of code,
 * and once all have left it, in one of another page that is mapped in its place.
 */
#include <pthread.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>

#include "swapcode.h"

/* Wait here, not in a function of libc's. */
static inline __attribute__((always_inline)) void wait_for(const void *time)
{
#if defined(__x86_64__)
	long nr = SYS_nanosleep;

	__asm__ volatile("syscall"
			 : "+a"(nr)
			 : "D"(time), "S"(NULL)
			 : "rcx", "r11", "memory");
#elif defined(__aarch64__)
	register long nr __asm__("x8") = SYS_nanosleep;
	register const void *first __asm__("x0") = time;
	register const void *second __asm__("x1") = NULL;

	__asm__ volatile("svc 0"
			 : "+r"(first)
			 : "r"(nr), "r"(second)
			 : "memory");
#endif
}

/* The linker has sections of one name in the order in which they stand here. */
static IN(".first", PAGE) void wait_first(const void *time)
{
	wait_for(time);
}

static IN(".first", HALF) void never_first(const void *time)
{
	wait_for(time);
}

static IN(".second", PAGE) void never_second(const void *time)
{
	wait_for(time);
}

static IN(".second", HALF) void wait_second(const void *time)
{
	wait_for(time);
}

static pthread_barrier_t ready, left;
static struct timespec time_to_wait;
static size_t off;

static void *wait_in_turns(void *arg)
{
	for (;;) {
		pthread_barrier_wait(&ready);
		((void (*)(const void *))(uintptr_t)(AT + off))(&time_to_wait);
		pthread_barrier_wait(&left);
	}
	return arg;
}

static void run_phase(int fd, const void *page, size_t begin)
{
	map_page(fd, page);
	off = begin;
	pthread_barrier_wait(&ready);
	pthread_barrier_wait(&left);
}

int main(int argc, char **argv)
{
	int fd = open("/proc/self/exe", O_RDONLY), i, nr;
	pthread_attr_t attr;
	pthread_t thread;

	if (argc != 3 ||
	    (uint8_t *)never_first != (uint8_t *)wait_first + HALF ||
	    (uint8_t *)wait_second != (uint8_t *)never_second + HALF)
		return 2;
	nr = atoi(argv[1]);
	time_to_wait.tv_nsec = atol(argv[2]) * 1000000;
	pthread_barrier_init(&ready, NULL, (unsigned int)nr + 1);
	pthread_barrier_init(&left, NULL, (unsigned int)nr + 1);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 16384);
	for (i = 0; i < nr; i++)
		if (pthread_create(&thread, &attr, wait_in_turns, NULL))
			return 1;
	puts("ready");
	fflush(stdout);
	for (;;) {
		run_phase(fd, wait_first, 0);
		run_phase(fd, never_second, HALF);
	}
}
