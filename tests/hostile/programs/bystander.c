// SPDX-License-Identifier: BSD-2-Clause
/* Never rests: in inner(), called by middle(), outer() and main(). */
#include <stdio.h>

#define NOINLINE __attribute__((noinline, noclone, noipa))

static volatile unsigned long sink;

static NOINLINE void inner(void)
{
	for (;;)
		sink++;
}

static NOINLINE void middle(void)
{
	inner();
	sink--;
}

static NOINLINE void outer(void)
{
	middle();
	sink--;
}

int main(void)
{
	puts("ready");
	fflush(stdout);
	outer();
	return 0;
}
