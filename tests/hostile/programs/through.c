// SPDX-License-Identifier: BSD-2-Clause
/* Waits below known functions.  Tests run copies of it with other sections. */
#include <stdio.h>
#include <unistd.h>

__attribute__((noinline)) static int wait_here(int n)
{
	puts("ready");
	fflush(stdout);
	for (;;)
		pause();
	return n;
}

static inline __attribute__((always_inline)) int inlined(int n)
{
	return wait_here(n + 1) + 1;
}

__attribute__((noinline)) static int outer(int n)
{
	return inlined(n) + n;
}

/* As above, but it works, for what takes samples. */
__attribute__((noinline)) static unsigned int work_here(unsigned int n)
{
	puts("ready");
	fflush(stdout);
	for (volatile unsigned int i = 0;; i++)
		n += i;
	return n;
}

__attribute__((noinline)) static unsigned int busy(unsigned int n)
{
	return work_here(n) + 1;
}

int main(int argc, char **argv)
{
	return argc > 1 ? (int)busy((unsigned int)argc) + argv[1][0] :
			  outer(argc);
}
