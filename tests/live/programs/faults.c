/* SPDX-License-Identifier: BSD-2-Clause */
/* Where threads seldom are, one scene per argument.  x86-64 only. */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "stay.h"

#define USER32_CS "0x23" /* Linux, arch/x86/include/asm/segment.h */

/*
 * The stack pointer is far below what was ever written to; with a frame
 * pointer, as the compiler doesn't see it move.
 */
__attribute__((optimize("no-omit-frame-pointer"))) static NOINLINE int
untouched(void)
{
	long nr = 34; /* pause */

	if (write(1, "ready\n", 6) != 6)
		return 1;
	for (;;)
		__asm__ volatile("sub $0x80000, %%rsp\n\t"
				 "syscall\n\t"
				 "add $0x80000, %%rsp"
				 : "+a"(nr)
				 :
				 : "rcx", "r11", "memory");
}

/* Code of 32 bits that waits in pause(), in a stack's and its own page. */
static void *run_32_bits(void *arg)
{
	static const unsigned char code[] = {
		0xb8, 29,   0, 0, 0, /* mov $29, %eax */
		0xcd, 0x80,          /* int $0x80 */
		0xeb, 0xf7,          /* jmp to the first */
	};
	unsigned char *page =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);

	if (page == MAP_FAILED)
		exit(1);
	memcpy(page, code, sizeof(code));
	__asm__ volatile("mov %0, %%rsp\n\t"
			 "pushq $" USER32_CS "\n\t"
			 "pushq %1\n\t"
			 "lretq"
			 :
			 : "r"(page + 4096), "r"(page)
			 : "memory");
	return arg;
}

static NOINLINE int beside_32_bits(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, run_32_bits, NULL))
		return 1;
	return stay(1);
}

/* Code in a private mapping of a device like /dev/zero. */
static NOINLINE int on_device(const char *path)
{
	static const unsigned char code[] = {
		0xb8, 34,   0, 0, 0, /* mov $34, %eax: pause */
		0x0f, 0x05,          /* syscall */
		0xeb, 0xf7,          /* jmp to the first */
	};
	int fd = open(path, O_RDWR);
	void *page =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);

	if (fd < 0 || page == MAP_FAILED)
		return 1;
	close(fd);
	memcpy(page, code, sizeof(code));
	if (mprotect(page, 4096, PROT_READ | PROT_EXEC) ||
	    write(1, "ready\n", 6) != 6)
		return 1;
	((void (*)(void))page)();
	return 2;
}

static void *staying(void *arg)
{
	pthread_barrier_wait(arg);
	for (;;)
		sleep_once();
	return NULL;
}

static NOINLINE int threads(int nr)
{
	pthread_barrier_t all_there;
	pthread_t thread;
	int i;

	pthread_barrier_init(&all_there, NULL, nr + 1);
	for (i = 0; i < nr; i++)
		if (pthread_create(&thread, NULL, staying, &all_there)) {
			printf("not ready: only %d threads can be had\n", i);
			return 1;
		}
	pthread_barrier_wait(&all_there);
	return stay(1);
}

int main(int argc, char **argv)
{
	const char *scene = argc > 1 ? argv[1] : "";

	if (strcmp(scene, "untouched") == 0)
		return untouched() + 1;
	if (strcmp(scene, "32-bits") == 0)
		return beside_32_bits() + 1;
	if (strcmp(scene, "device") == 0 && argc > 2)
		return on_device(argv[2]) + 1;
	if (strcmp(scene, "threads") == 0 && argc > 2)
		return threads(atoi(argv[2])) + 1;
	return 64;
}
