/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a recorder counted, with names, to a profile.
 *
 * Any process can have stacks without end that are all different.  So the profile has
 * a limit, and no user but root may add more than a quarter of what the others leave
 * over.  After that, new stacks of the user are counted by a frame that says so; those
 * that the profile has already are counted as before.
 *
 * Nor may names take any time: after some seconds, or if the user asks for the end
 * again, the other stacks are added by module and address.  Seconds are those that a
 * CPU works for names: beside busy processes the same names are found, only later.
 */
#ifndef OW_PROFILING_H
#define OW_PROFILING_H

#include <outwind/record.h>

#include "profile.h"

#define PROFILING_LIMIT ((size_t)256 << 20)
#define PROFILING_USERS 256 /* with a share of their own */

/* What a user has added. */
struct profiling_share {
	uid_t uid;
	uint32_t nr_folded; /* stacks that stand for several */
	uint64_t nr_refused;
	size_t size; /* bytes */
};

/* All zero, but for p, r and limit, is one that has added nothing yet. */
struct profiling {
	struct profile *p;
	struct ow_recorder *r;
	size_t limit; /* bytes of all; 0: PROFILING_LIMIT */
	struct profiling_share shares[PROFILING_USERS]; /* last: all others */
	size_t nr_shares;
	uint64_t folded;        /* samples whose stack was left out, */
	unsigned int nr_folded; /* of so many users */
	/* After either of these nothing is named. */
	uint64_t until_work_ns; /* CLOCK_THREAD_CPUTIME_ID */
	uint64_t until_ns;      /* CLOCK_MONOTONIC */
	bool is_late;           /* it is after that */
	uint64_t crowded; /* samples whose stack nobody had room or time for */
	uint64_t unnamed; /* stacks that were added then */
};

/* Count what came since the last time.  Return 0 or what err says. */
int profiling_drain(struct profiling *g, struct ow_error *err);

/* Count what ow_recorder_drain_some() gives: what is left may be named better. */
int profiling_drain_some(struct profiling *g, struct ow_error *err);

/* Keep the tallies of the recorder in the profile. */
void profiling_tally(struct profiling *g);

#endif /* OW_PROFILING_H */
