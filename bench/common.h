/* SPDX-License-Identifier: BSD-2-Clause */
/* What all benchmark programs share: time, medians, and the verdict's line. */
#ifndef BENCH_COMMON_H
#define BENCH_COMMON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BENCH_REPEATS 15
#define BENCH_MAX_PCS 1024

/* Print what is wrong and exit with status 1. */
void bench_die(const char *fmt, ...)
	__attribute__((format(printf, 1, 2), noreturn));

/* ns: of CLOCK_MONOTONIC, and of CPU time that this thread has used. */
uint64_t bench_now(void);
uint64_t bench_cpu_now(void);

/*
 * Keep the CPU busy until it runs as fast as it will: one that was idle is slower
 * at first, and what takes milliseconds would tell of that alone.
 */
void bench_rouse_cpu(void);

/* The middle one of nr values, which are put in order. */
double bench_median(double *values, size_t nr);

/* "reached" or "missed". */
const char *bench_verdict(bool reached);

/*
 * Spans that are measured: in this thread's CPU time, so that other programs
 * disturb less, and by callgrind where that runs.
 */
struct bench_meter {
	uint64_t ns, frames; /* sums */
	uint64_t began;      /* the span that is open */
	uint64_t overhead;   /* of measuring, in ns; taken off */
};

void bench_begin(struct bench_meter *m);
void bench_end(struct bench_meter *m);

#endif /* BENCH_COMMON_H */
