// SPDX-License-Identifier: BSD-2-Clause
/*
 * movemuch PROCESSES: so many of them call mremap(2) without end, for all addresses,
 * which moves nothing.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#define ALL (1UL << 47)

int main(int argc, char **argv)
{
	long nr = argc == 2 ? atol(argv[1]) : 0;

	if (nr < 1)
		return 2;
	puts("ready");
	fflush(stdout);
	while (--nr > 0)
		if (fork() == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			break;
		}
	for (;;)
		mremap(NULL, ALL, ALL, MREMAP_MAYMOVE);
}
