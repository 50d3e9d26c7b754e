/* SPDX-License-Identifier: BSD-2-Clause */
/* Dies in a known place, to leave a core file. */
#include <stdlib.h>
#include <string.h>

#define NOINLINE __attribute__((noinline, noclone))

#ifdef BALLAST
const char ballast[BALLAST] = { 1 };
#endif
static void (*volatile nowhere)(void);
static volatile int zero;

static NOINLINE int crash(int how)
{
	volatile char room[100];

	room[how] = 1;
	if (how == 1)
		abort();
	if (how == 2)
		nowhere();
	*(volatile int *)(long)zero = how;
	return room[how];
}

static NOINLINE int leads_to_crash(int how)
{
	volatile char room[3000];

	room[how] = 1;
	return crash(how) + room[how];
}

static int compare(const void *a, const void *b)
{
	return leads_to_crash(*(const int *)a) + *(const int *)b;
}

static NOINLINE void sort(int how)
{
	int list[2] = { how, how };

	qsort(list, 2, sizeof(list[0]), compare);
	zero = list[0];
}

int main(int argc, char **argv)
{
	int how = argc > 1 ? atoi(argv[1]) : 1;

	sort(how);
	return 0;
}
