/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Has the kernel write where nothing was written before, at the stack pointer:
 * unwritten.c TIMES.
 */
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#define NOINLINE __attribute__((noinline, noclone))
#define PAGE     4096
#define FEW      16 /* bytes, as a stack is aligned: on one page, one fault */

/* No function is called, as that would write its return address. */
static NOINLINE long ask(void)
{
	char room[3 * PAGE];
	long ret;

	__asm__ volatile("syscall"
			 : "=a"(ret)
			 : "a"(SYS_readlink), "D"("/proc/self/exe"), "S"(room),
			   "d"(FEW)
			 : "rcx", "r11", "memory");
	return ret;
}

static NOINLINE int repeat(long times)
{
	char *here = (char *)((uintptr_t)__builtin_frame_address(0) &
			      -(uintptr_t)PAGE);

	for (; times; times--)
		if (ask() <= 0 ||
		    madvise(here - 8 * PAGE, 7 * PAGE, MADV_DONTNEED))
			return 1;
	return 0;
}

int main(int argc, char **argv)
{
	return argc < 2 ? 2 : repeat(strtol(argv[1], NULL, 10));
}
