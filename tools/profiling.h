/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a recorder counted, with names, to a profile.
 *
 * Any process can have stacks without end that are all different.  So the profile has
 * a limit, and no user but root may add more than a quarter of what the others leave
 * over.  After that, new stacks of the user are counted by a frame that says so; those
 * that the profile has already are counted as before.
 *
 * Nor may names take any time: after some work, or if the user asks for the end
 * again, places that weren't named by then are added by module and address.  Work is
 * what a CPU does for names: beside busy processes the same names are found, only
 * later.  Three quarters of the work is what names of a user other than root may
 * take.  With modules and addresses, such a user may take three quarters of all work:
 * after that, the user's stacks are counted by a frame that says so.
 */
#ifndef OW_PROFILING_H
#define OW_PROFILING_H

#include <outwind/record.h>

#include "knownplaces.h"
#include "profile.h"

#define PROFILING_LIMIT ((size_t)256 << 20)
#define PROFILING_USERS 256 /* with a share of their own */

#define PROFILING_PATHS 1024 /* of modules, whose strings are at hand */

/* What a user has added. */
struct profiling_share {
	uid_t uid;
	uint16_t owner;     /* of stacks: 0 where several users share */
	uint32_t nr_folded; /* stacks that stand for several */
	uint64_t nr_refused;
	size_t size;      /* bytes */
	uint64_t work_ns; /* for names and places, since names began */
};

/* Some of a CPU's work, and of the clock's time, in ns; or when they are over. */
struct profiling_time {
	uint64_t work_ns; /* CLOCK_THREAD_CPUTIME_ID */
	uint64_t ns;      /* CLOCK_MONOTONIC */
};

/*
 * What names may take, and after that, modules and addresses; then there are
 * neither.
 */
struct profiling_limits {
	struct profiling_time naming, placing;
};

/* A path of the recorder, and the profile's string of it. */
struct profiling_path {
	const char *path;
	uint32_t string;
};

#define PROFILING_LISTED 4 /* processes of a list */

struct profiling_listed {
	pid_t pid;
	uint32_t comm; /* string of the profile */
};

/* The first processes that a message lists. */
struct profiling_list {
	struct profiling_listed of[PROFILING_LISTED];
	size_t nr;
	bool has_more; /* there are others, too */
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
	struct knownplaces known;
	struct profile_ids ids; /* of the stack that is added */
	/* What names may take from the first stack on; or NULL: that has begun. */
	const struct profiling_limits *allowed;
	/* After either of these nothing is named, */
	struct profiling_time until, until_placed; /* nor placed */
	bool is_late;     /* it is after the first of them */
	uint64_t work_ns; /* that names may take in all */
	uint64_t all_ns;  /* the same with what is only placed */
	uint64_t spared_ns; /* that until_placed is later for users over their share */
	uint64_t ends_ns; /* CLOCK_THREAD_CPUTIME_ID: so does the user's share */
	uint64_t looked_ns; /* CLOCK_MONOTONIC_COARSE: the last look at time */
	struct profiling_path *paths; /* PROFILING_PATHS of them, or NULL */
	bool is_placing;  /* nothing is named: it is late, or after that */
	uint64_t crowded; /* samples whose stack nobody had room or time for, */
	bool is_short;    /* some of them for lack of time */
	struct profiling_list crowders; /* whose they are */
	uint64_t unnamed; /* stacks of which places have no names for that */
	struct profiling_list lacking; /* whose they are */
};

/* Count what came since the last time.  Return 0 or what err says. */
int profiling_drain(struct profiling *g, const struct profiling_limits *most,
		    struct ow_error *err);

/* Count what ow_recorder_drain_some() gives: what is left may be named better. */
int profiling_drain_some(struct profiling *g, struct ow_error *err);

/* Keep the tallies of the recorder in the profile. */
void profiling_tally(struct profiling *g);

void profiling_deinit(struct profiling *g);

#endif /* OW_PROFILING_H */
