/* SPDX-License-Identifier: BSD-2-Clause */
/* Frames of unusual shapes, one scene per argument. */
#include <alloca.h>
#include <stdlib.h>
#include <string.h>

#include "stay.h"
#include "swapped.h"

static NOINLINE int dive(int depth)
{
	volatile int keep = depth;

	if (depth <= 1)
		return stay(depth) + keep;
	return dive(depth - 1) + keep;
}

static NOINLINE int big_frame(int x)
{
	volatile char room[3 << 20];

	room[x] = 1;
	room[sizeof(room) - 1] = 2;
	return stay(x) + room[x];
}

static NOINLINE int with_alloca(int x)
{
	volatile char *room = alloca(x * 1000 + 777);

	room[0] = 1;
	return stay(x) + room[0];
}

static NOINLINE int big_caller(int x)
{
	return big_frame(x) + 1;
}

static NOINLINE int alloca_caller(int x)
{
	volatile char *room = alloca(x * 100 + 7);

	room[0] = 1;
	return with_alloca(x) + room[0];
}

/* An aligned local that escapes: the frame is realigned. */
static NOINLINE int realigned(int x)
{
	_Alignas(128) volatile char room[256];

	__asm__ volatile("" : : "r"(room) : "memory");
	room[x] = 1;
	return stay(x) + room[x];
}

static NOINLINE int realigned_alloca(int x)
{
	_Alignas(64) volatile char room[64];
	volatile char *more = alloca(x * 50 + 3);

	__asm__ volatile("" : : "r"(room), "r"(more) : "memory");
	room[x] = more[0] = 1;
	return realigned(x) + room[x] + more[0];
}

static NOINLINE __attribute__((noreturn)) void never_back(int x)
{
	stay(x);
	_exit(1);
}

/* Its call is its last instruction: the return address is behind it. */
static NOINLINE void calls_noreturn(int x)
{
	volatile int keep = x;

	(void)keep;
	never_back(x);
}

static NOINLINE int tail_target(int x)
{
	return stay(x) + 1;
}

/* Jumps, and so isn't there any more. */
static NOINLINE __attribute__((optimize("optimize-sibling-calls"))) int
tail_caller(int x)
{
	return tail_target(x + 1);
}

static void coroutine(void)
{
	stay(1);
}

static int compare(const void *a, const void *b)
{
	(void)a;
	(void)b;
	stay(1);
	return 0;
}

/* Its return address is that of data, as after an overflow. */
static NOINLINE int smashed(int x)
{
	static int data;
	void **frame = __builtin_frame_address(0);

	frame[1] = &data;
	return stay(x) + 1;
}

int main(int argc, char **argv)
{
	int list[3] = { 3, 2, 1 };
	const char *scene = argc > 1 ? argv[1] : "";

	if (strcmp(scene, "deep") == 0)
		return dive(atoi(argv[2])) + 1;
	if (strcmp(scene, "big") == 0)
		return big_caller(argc) + 1;
	if (strcmp(scene, "alloca") == 0)
		return alloca_caller(argc) + 1;
	if (strcmp(scene, "realign") == 0)
		return realigned_alloca(argc) + 1;
	if (strcmp(scene, "noreturn") == 0)
		calls_noreturn(argc);
	if (strcmp(scene, "tail") == 0)
		return tail_caller(argc) + 1;
	if (strcmp(scene, "coroutine") == 0)
		return swapped(coroutine) + 1;
	if (strcmp(scene, "callback") == 0)
		qsort(list, 3, sizeof(list[0]), compare);
	if (strcmp(scene, "smashed") == 0)
		return smashed(argc) + 1;
	return 64;
}
