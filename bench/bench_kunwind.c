// SPDX-License-Identifier: BSD-2-Clause
/*
 * In a guest whose time stamp counter counts instructions: what a stack of so
 * many frames costs, taken by kunwind, by the kernel's walk along frame pointers
 * of the same functions built with them, and in user space by libunwind.
 */
#define UNW_LOCAL_ONLY
#include <errno.h>
#include <fcntl.h>
#include <libunwind.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <x86intrin.h>

#include <outwind/kunwind.h>
#include <outwind/outwind.h>

#include "kmod/kwbench.h"
#include "stacks.h"

#define MAX_DEPTH 128
#define TIMES     20

/* A stack to take, and what came of it. */
struct job {
	struct kwbench b;
	uint64_t pcs[MAX_DEPTH];
	uint64_t libunwind; /* ticks, the least of several times */
	void *theirs[MAX_DEPTH];
};

static int bench = -1;

static void die(const char *what)
{
	fprintf(stderr, "bench_kunwind: %s: %s\n", what, strerror(errno));
	exit(1);
}

static uint64_t ticks(void)
{
	uint64_t t;

	_mm_lfence();
	t = __rdtsc();
	_mm_lfence();
	return t;
}

/* Innermost; its caller's return address is the first that all agree on. */
static unsigned long leaf(const struct bench_path *p, unsigned int i)
{
	struct job *job = p->arg;
	uint64_t start, took;
	unsigned int n;
	long ret;

	__asm__ volatile("syscall"
			 : "=a"(ret)
			 : "0"(16L), "D"((long)bench), "S"(KWBENCH_RUN),
			   "d"(&job->b)
			 : "rcx", "r11", "memory");
	if (ret) {
		errno = (int)-ret;
		die("/dev/kwbench");
	}
	job->libunwind = UINT64_MAX;
	for (n = 0; n < TIMES; n++) {
		start = ticks();
		unw_backtrace(job->theirs, (int)job->b.max);
		took = ticks() - start;
		if (took < job->libunwind)
			job->libunwind = took;
	}
	return i;
}

/* The code that may run changes, so that nothing of it is remembered. */
static void change_mappings(void)
{
	void *p = mmap(NULL, 4096, PROT_READ | PROT_EXEC,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED || munmap(p, 4096))
		die("mmap");
}

/* The same stack, to the frame: the innermost is the system call. */
static void check(const struct job *job)
{
	unsigned int i;

	if (job->b.nr != job->b.max) {
		fprintf(stderr, "bench_kunwind: %u frames of %u\n", job->b.nr,
			job->b.max);
		exit(1);
	}
	for (i = 1; i < job->b.nr; i++)
		if (job->pcs[i] != (uintptr_t)job->theirs[i]) {
			fprintf(stderr,
				"bench_kunwind: frame %u: %#llx, not %p\n", i,
				(unsigned long long)job->pcs[i],
				job->theirs[i]);
			exit(1);
		}
}

static void take(struct job *job, bench_fn *const *functions, unsigned int what,
		 unsigned int depth)
{
	memset(job, 0, sizeof(*job));
	job->b.what = what;
	job->b.max = depth;
	job->b.pcs = (uintptr_t)job->pcs;
	change_mappings();
	bench_visit(functions, 1, leaf, job);
	check(job);
}

static void print_row(unsigned int depth)
{
	static struct job own, fp;
	double n = depth;

	take(&own, functions_omit, KWBENCH_KUNWIND, depth);
	take(&fp, functions_fp, KWBENCH_FP, depth);
	printf("%5u %8llu %7.1f %8llu %7.1f %7.2f %9llu %7.2f %9llu %6u %6u "
	       "%6u\n",
	       depth, (unsigned long long)own.b.again, (double)own.b.again / n,
	       (unsigned long long)fp.b.again, (double)fp.b.again / n,
	       (double)own.b.again / (double)fp.b.again,
	       (unsigned long long)own.libunwind,
	       (double)own.libunwind / (double)own.b.again,
	       (unsigned long long)own.b.first, own.b.stack, own.b.first_stack,
	       fp.b.stack);
}

static void print_memory(int dev)
{
	struct ow_kunwind_stats s;
	struct kwbench_sizes z;

	sleep(1); /* maps that were replaced are freed by then */
	if (ioctl(dev, OW_KUNWIND_STATS, &s) || ioctl(bench, KWBENCH_SIZES, &z))
		die("statistics");
	printf("\nKernel memory, bytes: an object %u + %u a segment + its table, "
	       "once for all processes;\na process %u + %u a mapping with "
	       "code; a CPU 4 * %u.\n",
	       z.table + z.use, z.segment, z.space, z.range, z.context);
	printf("Here: %llu objects, tables of %llu; %llu processes, maps of "
	       "%llu.\n",
	       (unsigned long long)s.tables, (unsigned long long)s.table_bytes,
	       (unsigned long long)s.followed, (unsigned long long)s.map_bytes);
}

int main(void)
{
	struct ow_error err;
	unsigned int depth;
	int dev;

	setvbuf(stdout, NULL, _IOLBF, 0);
	dev = ow_kunwind_open(&err);
	if (dev < 0 || ow_kunwind_follow(dev, 0, 0, &err)) {
		fprintf(stderr, "bench_kunwind: %s\n", err.msg);
		return 1;
	}
	bench = open("/dev/kwbench", O_RDWR | O_CLOEXEC);
	if (bench < 0)
		die("/dev/kwbench");
	unw_set_caching_policy(unw_local_addr_space, UNW_CACHE_PER_THREAD);
	puts("Instructions of an unwind, with its reads of the stack; \"first\":\n"
	     "after a change of the mappings; \"stack\": bytes of the kernel's.\n\n"
	     "      kunwind          frame pointers   kunwind libunwind "
	     "   libun.  kunwind  stack  stack  stack\n"
	     "depth      all a frame      all a frame    / fp       all "
	     " / kunw.    first   kunw.  first     fp");
	for (depth = 1; depth <= MAX_DEPTH; depth *= 2)
		print_row(depth);
	print_memory(dev);
	return 0;
}
