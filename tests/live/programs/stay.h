/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Say "ready" and stay there: by a system call of our own, so that the
 * innermost frame is ours whatever the C library is.
 */
#ifndef STAY_H
#define STAY_H

#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))

static inline __attribute__((always_inline)) void sleep_once(void)
{
#if defined(__x86_64__)
	long nr = 34; /* pause */

	__asm__ volatile("syscall; nop" : "+a"(nr) : : "rcx", "r11", "memory");
#elif defined(__i386__)
	int nr = 29; /* pause */

	__asm__ volatile("int $0x80; nop" : "+a"(nr) : : "memory");
#else
	pause();
#endif
}

static NOINLINE int stay(int x)
{
	if (write(1, "ready\n", 6) != 6)
		return 1;
	for (;;) {
		sleep_once();
		__asm__ volatile("" : "+r"(x) : : "memory");
	}
}

#endif /* STAY_H */
