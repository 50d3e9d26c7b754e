/* SPDX-License-Identifier: BSD-2-Clause */
/* Clocks in nanoseconds. */
#ifndef OW_CLOCKNS_H
#define OW_CLOCKNS_H

#include <stdint.h>
#include <time.h>

static inline uint64_t clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

#endif /* OW_CLOCKNS_H */
