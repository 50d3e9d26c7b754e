/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A program whose code is replaced all the time: reborn.c OTHER SMALL LARGE
 * [again].  It loads one of two files, calls it, and unloads it: the next one
 * comes to lie at the same place; and after some turns it becomes OTHER, which
 * is the same but for its frames' size and its functions' names, at the same
 * addresses.  Who may call whom is told by the names.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/personality.h>
#include <unistd.h>

#define NOINLINE    __attribute__((noinline, noclone))
#define JOIN_(a, b) a##_##b
#define JOIN(a, b)  JOIN_(a, b)
#define MINE(name)  JOIN(name, NAME)
#define LEAST_TURNS 2
#define OTHER_TURNS 13 /* so that programs live shorter and longer */
#define STEPS       400000

typedef int turner(int (*work)(void));

static volatile unsigned long sink;

static NOINLINE int MINE(work_small)(void)
{
	int i;

	for (i = 0; i < STEPS; i++)
		sink += (unsigned long)i;
	return (int)sink;
}

static NOINLINE int MINE(work_large)(void)
{
	int i;

	for (i = 0; i < STEPS; i++)
		sink -= (unsigned long)i;
	return (int)sink;
}

static NOINLINE int MINE(load)(const char *path, int (*work)(void))
{
	volatile char room[ROOM];
	void *lib = dlopen(path, RTLD_NOW);
	turner *turn = lib ? (turner *)dlsym(lib, "turn") : NULL;
	int i;

	if (!turn)
		exit(2);
	room[0] = room[ROOM - 1] = 1;
	/* Once, and often: also longer than it takes to tell of a mapping. */
	for (i = 0; i < (int)(sink % 5) * 8 + 1; i++)
		room[0] += (char)turn(work);
	dlclose(lib);
	return room[0];
}

static NOINLINE void *MINE(meanwhile)(void *arg)
{
	volatile char room[ROOM];

	room[0] = room[ROOM - 1] = 1;
	for (;;)
		sink += (unsigned long)MINE(work_small)() + room[0];
	return arg;
}

int main(int argc, char **argv)
{
	char *const next[] = {
		argv[1], argv[0], argv[2], argv[3], "again", NULL
	};
	const unsigned char *chance = (void *)getauxval(AT_RANDOM);
	int i, turns = LEAST_TURNS + *chance % OTHER_TURNS;
	pthread_t id;

	personality(ADDR_NO_RANDOMIZE);
	if (argc < 4 || pthread_create(&id, NULL, MINE(meanwhile), NULL))
		return 1;
	if (argc == 4) {
		puts("ready");
		fflush(stdout);
	}
	for (i = 0; i < turns; i++) {
		sink += (unsigned long)MINE(load)(argv[2], MINE(work_small));
		sink += (unsigned long)MINE(load)(argv[3], MINE(work_large));
	}
	execv(argv[1], next);
	return 3;
}
