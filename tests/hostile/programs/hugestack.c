// SPDX-License-Identifier: BSD-2-Clause
/*
 * hugestack GIGABYTES THREADS: threads wait at the low end of stacks that nobody has
 * written to, and that take no memory until somebody reads them.
 */
#include <stdint.h>
#include <sys/mman.h>

#include "threads.h"

#define BELOW 65536 /* bytes that stay below a stack pointer */

/* A system call of our own on the other stack: pause(2). */
static void *wait_deep(void *arg)
{
#if defined(__x86_64__)
	__asm__ volatile("mov %0, %%rsp\n"
			 "1: mov $34, %%eax\n"
			 "syscall\n"
			 "jmp 1b"
			 :
			 : "r"((char *)arg + BELOW)
			 : "memory");
#endif
	return wait_here(arg);
}

static void start_deep(size_t size)
{
	char *stack = mmap(NULL, size, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	pthread_attr_t attr;
	pthread_t thread;

	if (stack == MAP_FAILED || madvise(stack, size, MADV_NOHUGEPAGE))
		fail("stack");
	pthread_attr_init(&attr);
	if (pthread_attr_setstack(&attr, stack, size) ||
	    pthread_create(&thread, &attr, wait_deep, stack))
		fail("thread");
}

int main(int argc, char **argv)
{
	size_t gigabytes = argc > 1 ? strtoul(argv[1], NULL, 10) : 1;
	int i, nr = argc > 2 ? atoi(argv[2]) : 1;

	for (i = 0; i < nr; i++)
		start_deep(gigabytes << 30);
	puts("ready");
	fflush(stdout);
	wait_here(NULL);
	return 0;
}
