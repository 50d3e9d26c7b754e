/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Samples of a target at even times.  Which kind of target it is doesn't
 * matter: it is taken again by ow_capture_again().
 */
#ifndef OW_SAMPLER_H
#define OW_SAMPLER_H

#include <time.h>

#include <outwind/outwind.h>

#include "costs.h"

#define SAMPLER_MOST_HZ 10000

/* A capture that has just been taken. */
struct sample {
	struct ow_capture *capture;
	uint64_t number;      /* from 0 */
	struct timespec time; /* of the wall clock */
};

/* What a sample costs the target. */
enum sampler_cost {
	SAMPLER_PAUSE, /* in ns */
	SAMPLER_HYPERCALLS,
	SAMPLER_MAPPINGS,
	SAMPLER_NR_COSTS
};

struct sampler {
	/* What is wanted. */
	unsigned int frequency; /* a second, 1 to SAMPLER_MOST_HZ */
	uint64_t most;          /* samples; 0: no limit */
	uint64_t duration_ns;   /* from the first deadline on; 0: no limit */
	bool is_measured;       /* keep what samples cost */
	/* Return false to end. */
	bool (*take)(void *arg, const struct sample *s);
	void (*missed)(void *arg, uint64_t late_ns); /* or NULL */
	void *arg;

	/* What came of it. */
	uint64_t nr;        /* samples */
	uint64_t nr_missed; /* deadlines */

	struct costs costs[SAMPLER_NR_COSTS]; /* if measured */
	struct ow_error why; /* of a target that could not be taken again, or
				of no memory */
};

/*
 * Sample c, whose first sample is the one that it was made with, until a limit
 * is reached, take() says so, or SIGINT, SIGTERM or SIGHUP comes.  A deadline
 * that has passed before its sample could begin is missed, and no sample is
 * taken for it.  Return 0; or a negative code, and why is filled, if the target
 * could not be taken any more.  sampler_free() in any case.
 */
int sampler_run(struct sampler *s, struct ow_capture *c);
void sampler_free(struct sampler *s);

#endif /* OW_SAMPLER_H */
