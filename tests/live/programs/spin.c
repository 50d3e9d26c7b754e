/* SPDX-License-Identifier: BSD-2-Clause */
/* Never blocks: to be looked at in prologues, epilogues, stubs, the vDSO. */
#include <string.h>
#include <time.h>

#include "stay.h"

int tiny(int x); /* in a library */

static volatile int sink;

static NOINLINE int leaf(int x)
{
	return x * 3;
}

/* Uses more registers than are free. */
static NOINLINE int pushes(int a, int b, int c)
{
	int d = leaf(a), e = leaf(b), f = leaf(c), g = leaf(a + b);
	int h = leaf(b + c), i = leaf(a + c);

	return leaf(a) + d * e + f * g + h * i + a + b + c;
}

static NOINLINE int spin_once(int x)
{
	volatile char room[300];

	room[5] = (char)x;
	return pushes(x, x + 1, x + 2) + room[5];
}

static NOINLINE void spin(void)
{
	for (;;)
		sink += spin_once(sink);
}

static NOINLINE void spin_clock(void)
{
	struct timespec ts;

	for (;;) {
		clock_gettime(CLOCK_MONOTONIC, &ts);
		sink += (int)ts.tv_nsec;
	}
}

static NOINLINE void spin_plt(void)
{
	for (;;)
		sink += tiny(sink);
}

int main(int argc, char **argv)
{
	const char *scene = argc > 1 ? argv[1] : "";

	if (write(1, "ready\n", 6) != 6)
		return 1;
	if (strcmp(scene, "clock") == 0)
		spin_clock();
	if (strcmp(scene, "plt") == 0)
		spin_plt();
	spin();
	return 64;
}
