/* SPDX-License-Identifier: BSD-2-Clause */
/* The clocks that samples, freezes, waits and work are timed by. */
#ifndef OW_MONOTONIC_H
#define OW_MONOTONIC_H

#include <stdint.h>
#include <time.h>

/* CLOCK_MONOTONIC in nanoseconds, as clock_gettime(2) has it. */
static inline uint64_t ow_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* The CPU time of the calling thread in nanoseconds (CLOCK_THREAD_CPUTIME_ID). */
static inline uint64_t ow_cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

#endif /* OW_MONOTONIC_H */
