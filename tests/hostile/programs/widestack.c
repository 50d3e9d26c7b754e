// SPDX-License-Identifier: BSD-2-Clause
/*
 * widestack GIB NR: so many threads wait near the begin of one mapping of that size,
 * which is all of pages of zeros, and may not be read; their thread pointers are near
 * its end, where a stack's base would be.
 */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define HUGE ((size_t)2 << 20)
#define PAGE 4096
#define FLAGS                                                               \
	(CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | \
	 CLONE_SYSVSEM | CLONE_SETTLS)

/* A thread that uses no stack, with that pointer as its own. */
static void start(char *sp, char *tp)
{
	register long r10 __asm__("r10") = 0;
	register char *r8 __asm__("r8") = tp;
	long ret;

	__asm__ volatile("syscall\n"
			 "test %%rax, %%rax\n"
			 "jnz 2f\n"
			 "1: mov %1, %%eax\n"
			 "syscall\n"
			 "jmp 1b\n"
			 "2:"
			 : "=a"(ret)
			 : "i"(SYS_pause), "0"((long)SYS_clone), "D"(FLAGS),
			   "S"(sp), "d"(0L), "r"(r10), "r"(r8)
			 : "rcx", "r11", "memory");
	if (ret < 0)
		exit(1);
}

int main(int argc, char **argv)
{
	size_t size, at;
	int i;
	char *base;

	if (argc < 3)
		return 64;
	size = strtoul(argv[1], NULL, 0) << 30;
	base = mmap(NULL, size, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (base == MAP_FAILED)
		return 1;
	madvise(base, size, MADV_HUGEPAGE);
	for (at = 0; at < size; at += HUGE)
		*(volatile char *)(base + at);
	mprotect(base, size, PROT_NONE);
	for (i = 0; i < atoi(argv[2]); i++)
		start(base + 2 * HUGE + (size_t)i * PAGE, base + size - PAGE);
	puts("ready");
	fflush(stdout);
	for (;;)
		pause();
}
