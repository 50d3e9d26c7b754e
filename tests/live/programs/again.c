// SPDX-License-Identifier: BSD-2-Clause
/*
 * A program that is replaced by itself all the time, and does nothing else: main
 * -> become -> execve; again.c [again].
 */
#include <stdio.h>
#include <unistd.h>

__attribute__((noinline)) static int become(const char *program)
{
	char *const argv[] = { (char *)program, "again", NULL };
	char *const env[] = { NULL };

	execve(program, argv, env);
	return 1;
}

int main(int argc, char **argv)
{
	volatile int failed;

	if (argc == 1) {
		puts("ready");
		fflush(stdout);
	}
	failed = become(argv[0]);
	return failed;
}
