/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Stacks of our own, copied as if they were another process's.
 *
 * A path is a list of functions that call one another; its leaf takes the
 * registers and copies the stack.  Every path is one thread of a capture, so
 * that all peers walk the same registers, bytes and objects.
 */
#ifndef BENCH_STACKS_H
#define BENCH_STACKS_H

#include <stdbool.h>
#include <stddef.h>

struct bench_path;
struct ow_capture;
typedef unsigned long bench_fn(const struct bench_path *p, unsigned int i);

#define BENCH_FUNCTIONS 256
#define BENCH_STACKS    200
#ifndef BENCH_DEPTH
#define BENCH_DEPTH 26 /* and the leaf, and what leads to the first one */
#endif

struct bench_path {
	bench_fn *next[BENCH_DEPTH + 1]; /* the last one is the leaf */
	void *arg;                       /* the leaf's own */
};

/* The same functions without and with frame pointers. */
extern bench_fn *const functions_omit[BENCH_FUNCTIONS];
extern bench_fn *const functions_fp[BENCH_FUNCTIONS];

/* Run path n of BENCH_STACKS through these functions, and leaf at its end. */
void bench_visit(bench_fn *const *functions, size_t n, bench_fn *leaf,
		 void *arg);

/*
 * A capture of this process whose threads are the paths; all its modules are
 * ready, with compact tables if asked for.
 */
struct ow_capture *bench_stacks(bench_fn *const *functions, bool tables);

#endif /* BENCH_STACKS_H */
