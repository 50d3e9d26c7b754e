// SPDX-License-Identifier: BSD-2-Clause
/* inlines: work in six functions, each of which has twenty calls inlined into it. */
#include <stdio.h>

static volatile unsigned long sink;

#define INLINED(name, callee)                                        \
	static inline __attribute__((always_inline)) void name(void) \
	{                                                            \
		callee();                                            \
		sink++;                                              \
	}

#define FIVE(name, n, callee)                 \
	INLINED(name##_##n##0, callee)        \
	INLINED(name##_##n##1, name##_##n##0) \
	INLINED(name##_##n##2, name##_##n##1) \
	INLINED(name##_##n##3, name##_##n##2) \
	INLINED(name##_##n##4, name##_##n##3)

#define FUNCTION(name, callee)                              \
	FIVE(name, 0, callee)                               \
	FIVE(name, 1, name##_04)                            \
	FIVE(name, 2, name##_14)                            \
	FIVE(name, 3, name##_24)                            \
	__attribute__((noinline, noclone)) void name(void); \
	__attribute__((noinline, noclone)) void name(void)  \
	{                                                   \
		name##_34();                                \
		sink += 2;                                  \
	}

__attribute__((noinline)) static void burn(void)
{
	for (;;)
		sink++;
}

FUNCTION(first, burn)
FUNCTION(second, first)
FUNCTION(third, second)
FUNCTION(fourth, third)
FUNCTION(fifth, fourth)
FUNCTION(sixth, fifth)

int main(void)
{
	puts("ready");
	fflush(stdout);
	sixth();
	return 0;
}
