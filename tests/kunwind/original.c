// SPDX-License-Identifier: BSD-2-Clause
/*
 * The original's library and device, as its test programs use them: the stack
 * beside glibc's backtrace().  Prints both, and times as test-benchmark did.
 */
#include <errno.h>
#include <execinfo.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <outwind/kunwind.h>

#include "chain.h"

static struct kunwind_handle *handle;
static int passed, failed;
static unsigned int depth;
static unsigned long repeat = 100;

static void say(bool well, const char *what, long a, long b)
{
	passed += well;
	failed += !well;
	if (!well)
		printf("not ok - depth %u: %s (%ld, %ld)\n", depth, what, a, b);
}

static void compare(void)
{
	struct kunwind_backtrace *bt = kunwind_backtrace_new(1024);
	static void *theirs[1024];
	int nr = backtrace(theirs, 1024);
	int err = kunwind_backtrace(handle, bt);
	unsigned int mine = kt_inside(bt->entries, bt->nr_entries);

	say(err == 0, "kunwind_backtrace", err, errno);
	say(mine == depth + 1, "frames of the recursion", mine, depth + 1);
	say(labs((long)bt->nr_entries - nr) <= 4, "as deep as backtrace()",
	    bt->nr_entries, nr);
	say(bt->entries[bt->nr_entries - 1] == (uintptr_t)theirs[nr - 1] &&
		    bt->entries[bt->nr_entries - 4] ==
			    (uintptr_t)theirs[nr - 4],
	    "the same outermost frames", bt->nr_entries, nr);
	kunwind_backtrace_free(bt);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e6 + t.tv_nsec / 1e3;
}

static void measure(void)
{
	struct kunwind_backtrace *bt = kunwind_backtrace_new((int)depth);
	double begin = now(), us;
	unsigned long i;

	for (i = 0; i < repeat; i++)
		kunwind_backtrace(handle, bt);
	us = (now() - begin) / repeat;
	printf("%-5u %6.3f us (%6.3f us)\n", depth, us, us / depth);
	kunwind_backtrace_free(bt);
}

static void limits(void)
{
	struct kunwind_backtrace bt = { .max_entries = 0 };
	struct kunwind_backtrace *small = kunwind_backtrace_new(3);

	say(kunwind_backtrace_new(0) == NULL, "none of 0", 0, 0);
	say(kunwind_backtrace(handle, &bt) == -1 && errno == EINVAL,
	    "EINVAL for no room", errno, 0);
	bt.max_entries = 8;
	say(kunwind_backtrace(handle, &bt) == -1 && errno == EFAULT,
	    "EFAULT for a pointer to nowhere", errno, 0);
	say(kunwind_backtrace(handle, small) == 0 && small->nr_entries == 3,
	    "as many as there is room for", small->nr_entries, 3);
	kunwind_backtrace_free(small);
	kunwind_backtrace_free(NULL);
	kunwind_close(NULL);
}

int main(int argc, char **argv)
{
	int err = kunwind_open(&handle);

	if (err) {
		printf("kunwind_open: %d\n0 passed, 1 failed\n", err);
		return 1;
	}
	if (argc > 1)
		repeat = strtoul(argv[1], NULL, 10);
	limits();
	printf("repeat=%lu depth_min=%u depth_max=%u\n", repeat, 1, 128);
	for (depth = 1; depth <= 128; depth *= 2) {
		kt_chain(depth, compare);
		kt_chain(depth, measure);
	}
	kunwind_close(handle);
	printf("%d passed, %d failed\n", passed, failed);
	return failed != 0;
}
