// SPDX-License-Identifier: BSD-2-Clause
/*
 * Makes code as a JIT does, and runs each of it for so many milliseconds of CPU
 * time: one whose name is in the map for perf before, one whose name is only
 * told at the end, and one that has none.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))
#define ROOM     1024 /* for each */

/* push %rbp; mov %rsp,%rbp; mov $100000,%ecx; 1: dec %ecx; jnz 1b; pop; ret */
static const unsigned char code[] = { 0x55, 0x48, 0x89, 0xe5, 0xb9,
				      0xa0, 0x86, 0x01, 0x00, 0xff,
				      0xc9, 0x75, 0xfc, 0x5d, 0xc3 };

static unsigned char *made;
static long ms;

static long used(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static NOINLINE void repeat(int which)
{
	void (*run)(void) = (void (*)(void))(made + which * ROOM);
	long begin = used();

	while (used() - begin < ms)
		run();
}

static NOINLINE int early(void)
{
	repeat(0);
	return 1;
}

static NOINLINE int late(void)
{
	repeat(1);
	return 1;
}

static NOINLINE int unnamed(void)
{
	repeat(2);
	return 1;
}

static void put_line(FILE *map, int which, const char *name)
{
	fprintf(map, "%lx %zx %s\n", (unsigned long)(made + which * ROOM),
		sizeof(code), name);
	fflush(map);
}

/* SIGUSR1 says that the map is followed, as a stack had frames of such code. */
static void wait_for_word(const sigset_t *set)
{
	int number;

	puts("ready");
	fflush(stdout);
	sigwait(set, &number);
}

int main(int argc, char **argv)
{
	char path[64];
	sigset_t set;
	FILE *map;
	int i;

	ms = argc > 1 ? atol(argv[1]) : 1000;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	made = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	map = fopen(path, "w");
	if (made == MAP_FAILED || !map)
		return 1;
	for (i = 0; i < 3; i++)
		memcpy(made + i * ROOM, code, sizeof(code));
	put_line(map, 0, "JS:early one");
	i = early();
	wait_for_word(&set);
	i += late() + unnamed();
	put_line(map, 1, "JS:late one");
	return fclose(map) || i != 3;
}
