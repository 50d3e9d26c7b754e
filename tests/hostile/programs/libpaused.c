// SPDX-License-Identifier: BSD-2-Clause
/* A library whose code is on the stack, of several pages. */
#include <unistd.h>

#define FILLER(n)                                       \
	__attribute__((noinline)) int filler_##n(int x) \
	{                                               \
		volatile char room[64 + n];             \
                                                        \
		room[x & 63] = (char)x;                 \
		return room[(x + 1) & 63] + n;          \
	}
#define FILLERS(n)   \
	FILLER(n##0) \
	FILLER(n##1) \
	FILLER(n##2) \
	FILLER(n##3) FILLER(n##4) FILLER(n##5) FILLER(n##6) FILLER(n##7)

FILLERS(1)
FILLERS(2)
FILLERS(3)
FILLERS(4)
FILLERS(5)
FILLERS(6)
FILLERS(7)
FILLERS(8)

static __attribute__((noipa)) int paused_inner(int x)
{
	if (write(1, "ready\n", 6) != 6)
		return 1;
	for (;;)
		pause();
	return filler_10(x);
}

__attribute__((noipa)) int paused_outer(int x)
{
	volatile char room[200];

	room[x] = 1;
	return paused_inner(x) + room[x];
}
