// SPDX-License-Identifier: BSD-2-Clause
/* Spins in a recursion for some seconds: spin SECONDS; 0: calls getppid(). */
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "chain.h"

static time_t until;

static KT_NOINLINE void spin_inner(void)
{
	volatile unsigned int n;

	syscall(SYS_getppid);
	while (until && time(NULL) < until)
		for (n = 0; n < 100000; n++)
			;
}

int main(int argc, char **argv)
{
	int seconds = argc > 1 ? atoi(argv[1]) : 1;

	/* A daemon has its tables by then. */
	usleep(300000);
	until = seconds ? time(NULL) + seconds + 1 : 0;
	kt_chain(30, spin_inner);
	return 0;
}
