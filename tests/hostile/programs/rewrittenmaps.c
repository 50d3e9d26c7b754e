// SPDX-License-Identifier: BSD-2-Clause
/*
 * Code of one file in mappings without end, and the file is written to all the time: each
 * look at the process shows other code in all of them.  Meanwhile its stacks are of a
 * thousand callers, and differ from one another.  rewrittenmaps MAPPINGS DIR
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE      4096UL
#define FIRST     0x10000000UL /* lower than all other code */
#define DEPTH     1000
#define EVERY_NS  50000 /* a write, at most */
#define MOST_MAPS 30000

typedef void (*caller)(int depth);

static void caller_a(int depth);
static void caller_b(int depth);

static uint64_t rest = 88172645463325252;
static int file;

static unsigned int some_bit(void)
{
	rest ^= rest << 13;
	rest ^= rest >> 7;
	rest ^= rest << 17;
	return rest >> 40 & 1;
}

static void call(int depth)
{
	static const caller callers[] = { caller_a, caller_b };

	if (depth > 0)
		callers[some_bit()](depth - 1);
	else
		for (volatile int i = 0; i < EVERY_NS; i++)
			;
	__asm__ volatile("");
}

__attribute__((noinline)) static void caller_a(int depth)
{
	call(depth);
	__asm__ volatile("");
}

__attribute__((noinline)) static void caller_b(int depth)
{
	call(depth);
	__asm__ volatile("nop");
}

/* Have the file's code mapped again and again, with a page between. */
static int map_all(unsigned long nr)
{
	unsigned long i;

	for (i = 0; i < nr; i++)
		if (mmap((void *)(FIRST + 2 * i * PAGE), PAGE,
			 PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, file,
			 0) == MAP_FAILED)
			return -1;
	return 0;
}

int main(int argc, char **argv)
{
	unsigned long nr = argc == 3 ? strtoul(argv[1], NULL, 0) : 0;
	char path[4096];

	if (nr == 0 || nr > MOST_MAPS)
		return 2;
	snprintf(path, sizeof(path), "%s/code", argv[2]);
	file = open(path, O_RDWR | O_CREAT | O_TRUNC, 0700);
	if (file < 0 || ftruncate(file, PAGE) || map_all(nr)) {
		perror("rewrittenmaps");
		return 1;
	}
	puts("ready");
	fflush(stdout);
	for (;;) {
		call(DEPTH);
		if (pwrite(file, &rest, sizeof(rest), 0) != sizeof(rest))
			return 1;
	}
}
