/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * turns OTHER: run for a moment, and execute the program OTHER, which is to execute
 * this one.
 */
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "stay.h"

#define MOMENT_NS 1500000

static NOINLINE void FUNCTION(void)
{
	struct timespec begun, now;
	long ns;

	clock_gettime(CLOCK_MONOTONIC, &begun);
	do {
		clock_gettime(CLOCK_MONOTONIC, &now);
		ns = (now.tv_sec - begun.tv_sec) * 1000000000 + now.tv_nsec -
		     begun.tv_nsec;
	} while (ns < MOMENT_NS);
}

int main(int argc, char **argv)
{
	if (argc == 2 && write(1, "ready\n", 6) != 6)
		return 1;
	FUNCTION();
	execl(argv[1], argv[1], argv[0], "again", NULL);
	return 1;
}
