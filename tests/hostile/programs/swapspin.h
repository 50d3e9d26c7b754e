/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Two pages of code.  Each has a function that spins, where the other has one that never
 * runs.
 */
#ifndef SWAPSPIN_H
#define SWAPSPIN_H

#include "swapcode.h"

#define LOOP(times)                    \
	for (; (times) > 0; (times)--) \
	__asm__ volatile("" : "+r"(times))

/* The linker has sections of one name in the order in which they stand here. */
static IN(".first", PAGE) void spin_first(long times)
{
	LOOP(times);
}

static IN(".first", HALF) void never_first(long times)
{
	LOOP(times);
}

static IN(".second", PAGE) void never_second(long times)
{
	LOOP(times);
}

static IN(".second", HALF) void spin_second(long times)
{
	LOOP(times);
}

#endif /* SWAPSPIN_H */
