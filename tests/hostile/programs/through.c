// SPDX-License-Identifier: BSD-2-Clause
/* Waits below known functions.  Tests run copies of it with other sections. */
#include <stdio.h>
#include <unistd.h>

__attribute__((noipa)) static int wait_here(int n)
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

__attribute__((noipa)) static int outer(int n)
{
	return inlined(n) + n;
}

/* As above, but it works, for what takes samples. */
__attribute__((noipa)) static unsigned int work_here(unsigned int n)
{
	puts("ready");
	fflush(stdout);
	for (volatile unsigned int i = 0;; i++)
		n += i;
	return n;
}

__attribute__((noipa)) static unsigned int busy(unsigned int n)
{
	return work_here(n) + 1;
}

int main(int argc, char **argv)
{
	if (argc > 1)
		return (int)busy((unsigned int)argc) + argv[1][0];
	return outer(argc) + 1;
}
