// SPDX-License-Identifier: BSD-2-Clause
/* main -> between (see debugframe.S) -> stay; its name is its argument. */
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>

void between(void);
void stay(void);

__attribute__((noinline)) void stay(void)
{
	puts("ready");
	fflush(stdout);
	for (;;)
		pause();
}

int main(int argc, char **argv)
{
	if (argc > 1)
		prctl(PR_SET_NAME, argv[1]);
	between();
	return 0;
}
