/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a run may spend on one kind of work that hostile input can make arbitrarily
 * long.  What is spent comes back as time goes by, so that a long run recovers.
 *
 * All functions may be called by several threads at once.
 */
#ifndef OW_EFFORT_H
#define OW_EFFORT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct ow_effort {
	int64_t most;     /* at once, in units of the user's choice */
	int64_t a_second; /* that come back */
	atomic_int_least64_t left;
	atomic_uint_least64_t refilled_ns; /* CLOCK_MONOTONIC; 0: not yet */
};

#define OW_EFFORT(all, each_second)                                     \
	{                                                               \
		.most = (all), .a_second = (each_second), .left = (all) \
	}

/* The units that may be spent now; 0 if more than there were has been spent. */
uint64_t ow_effort_left(struct ow_effort *e);

void ow_effort_spend(struct ow_effort *e, uint64_t units);

/*
 * Take units from a share that a piece of work has.  Return false, and leave nothing
 * of the share, if there are not so many.
 */
static inline bool ow_effort_use(uint64_t *share, uint64_t units)
{
	bool is_enough = *share >= units;

	*share = is_enough ? *share - units : 0;
	return is_enough;
}

#endif /* OW_EFFORT_H */
