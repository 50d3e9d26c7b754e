// SPDX-License-Identifier: BSD-2-Clause
#include "common.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <valgrind/callgrind.h>

#define ROUSING_NS 500000000

void bench_die(const char *fmt, ...)
{
	va_list args;

	fflush(stdout);
	fputs("bench: ", stderr);
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fputc('\n', stderr);
	exit(1);
}

static uint64_t read_clock(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

uint64_t bench_now(void)
{
	return read_clock(CLOCK_MONOTONIC);
}

uint64_t bench_cpu_now(void)
{
	return read_clock(CLOCK_THREAD_CPUTIME_ID);
}

void bench_rouse_cpu(void)
{
	uint64_t began = bench_cpu_now();

	while (bench_cpu_now() - began < ROUSING_NS)
		;
}

static int by_value(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

double bench_median(double *values, size_t nr)
{
	qsort(values, nr, sizeof(*values), by_value);
	return nr % 2 ? values[nr / 2] :
			(values[nr / 2 - 1] + values[nr / 2]) / 2;
}

const char *bench_verdict(bool reached)
{
	return reached ? "reached" : "missed";
}

/* What an empty span takes: the clock is a system call. */
static uint64_t span_ns(void)
{
	static uint64_t least;
	uint64_t began, took;
	int i;

	if (least)
		return least;
	least = UINT64_MAX;
	for (i = 0; i < 1000; i++) {
		began = bench_cpu_now();
		took = bench_cpu_now() - began;
		if (took < least)
			least = took;
	}
	return least;
}

void bench_begin(struct bench_meter *m)
{
	m->overhead = span_ns();
	/* What the clock itself needs is in the CPU's cache then, as it was
	   when its overhead was measured. */
	bench_cpu_now();
	m->began = bench_cpu_now();
	CALLGRIND_TOGGLE_COLLECT;
}

void bench_end(struct bench_meter *m)
{
	uint64_t took;

	CALLGRIND_TOGGLE_COLLECT;
	took = bench_cpu_now() - m->began;
	if (took > m->overhead)
		m->ns += took - m->overhead;
}
