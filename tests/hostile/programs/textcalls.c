// SPDX-License-Identifier: BSD-2-Clause
/*
 * System calls with a text: textcalls BYTES COUNT.  At each SIGUSR1 it makes so many
 * calls of access(), of names of so many bytes at least that tell the round and the
 * number of the call; and says "done".
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MOST 4000

static char name[MOST + 64];

int main(int argc, char **argv)
{
	size_t size = argc == 3 ? strtoul(argv[1], NULL, 0) : MOST + 1;
	long count, round, i;
	sigset_t asked;
	int sig;

	if (size > MOST)
		return 1;
	count = strtol(argv[2], NULL, 0);
	sigemptyset(&asked);
	sigaddset(&asked, SIGUSR1);
	sigprocmask(SIG_BLOCK, &asked, NULL);
	puts("ready");
	fflush(stdout);
	memset(name, '/', size);
	for (round = 0; sigwait(&asked, &sig) == 0; round++) {
		for (i = 0; i < count; i++) {
			snprintf(name + size, sizeof(name) - size, "%ld.%ld",
				 round, i);
			access(name, F_OK);
		}
		puts("done");
		fflush(stdout);
	}
	return 0;
}
