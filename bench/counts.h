/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Counting instructions by callgrind.  A program runs itself under valgrind;
 * there, each span that a bench_meter measures is counted, and
 * bench_count_done() closes one count.  Afterwards the first run reads them.
 */
#ifndef BENCH_COUNTS_H
#define BENCH_COUNTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Run self under callgrind with one argument, which says what to do there. */
bool bench_count_run(const char *self, const char *arg);

/* There: forget what has been counted since the last count. */
void bench_count_clear(void);

/* There: what has been counted is the next count. */
void bench_count_done(void);

/* Count n, from 1, of bench_count_run(); 0 if there is none. */
uint64_t bench_count(const char *self, size_t n);

#endif /* BENCH_COUNTS_H */
