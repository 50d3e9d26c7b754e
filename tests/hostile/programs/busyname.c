// SPDX-License-Identifier: BSD-2-Clause
/* Runs for ever, with a name that would end a line and steer a terminal. */
#include <dlfcn.h>
#include <stdio.h>
#include <sys/prctl.h>

__attribute__((noinline)) void busy_name(void)
{
	static volatile unsigned long n;

	for (;;)
		n++;
}

int main(int argc, char **argv)
{
	if (argc > 1 && !dlopen(argv[1], RTLD_NOW))
		return 2;
	prctl(PR_SET_NAME, "a\nf 1\x1b[2J\xc2\x9b\xe2\x80\xae");
	puts("ready");
	fflush(stdout);
	busy_name();
	return 0;
}
