/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A program of calls into each other, under a build-id that is given to it.  Two
 * of these differ in the functions' names, in NAME(), and in the size of their
 * frames, FRAME, but not in where their code lies.
 */
#ifndef SAMEBUILD_H
#define SAMEBUILD_H

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static volatile int turns;

/* Each begins at the same address in both, and has room for another one's code. */
#define CALLS(name, callee)                                            \
	__attribute__((noinline, aligned(256))) void NAME(name)(void); \
	void NAME(name)(void)                                          \
	{                                                              \
		volatile char frame[FRAME];                            \
		frame[0] = (char)turns;                                \
		callee();                                              \
		turns += frame[0];                                     \
	}

static volatile int is_waiting;

__attribute__((noinline, aligned(256))) void NAME(spin)(void);

void NAME(spin)(void)
{
	for (;;) {
		while (is_waiting)
			pause();
		for (int i = 0; i < 1000000; i++)
			turns = turns + 1;
	}
}

CALLS(innermost, NAME(spin))
CALLS(inner, NAME(innermost))
CALLS(middle, NAME(inner))
CALLS(outer, NAME(middle))
CALLS(outermost, NAME(outer))

/* Functions enough for a table to be kept. */
#define ONE(n)                                                \
	__attribute__((noinline)) void NAME(unused##n)(void); \
	void NAME(unused##n)(void)                            \
	{                                                     \
		volatile char frame[128];                     \
		frame[0] = (char)turns;                       \
		puts((char *)frame);                          \
		turns += frame[0];                            \
	}

/* clang-format off */
#define TEN(n) \
	ONE(n##0) ONE(n##1) ONE(n##2) ONE(n##3) ONE(n##4) \
	ONE(n##5) ONE(n##6) ONE(n##7) ONE(n##8) ONE(n##9)
TEN(0) TEN(1) TEN(2) TEN(3) TEN(4) TEN(5) TEN(6) TEN(7) TEN(8) TEN(9)

int main(int argc, char **argv)
{
	is_waiting = argc > 1 && strcmp(argv[1], "wait") == 0;
	puts("ready");
	fflush(stdout);
	NAME(outermost)();
	return 0;
}

#endif /* SAMEBUILD_H */
