/* SPDX-License-Identifier: BSD-2-Clause */
/* Following processes, so that the kunwind module has tables of all they map. */
#ifndef OW_TABLEKEEPER_H
#define OW_TABLEKEEPER_H

#include <outwind/kunwind.h>

#include <stdbool.h>
#include <stdint.h>

#define TABLEKEEPER_LOSSES 16

/* Why all processes are to be looked at again. */
struct tablekeeper_loss {
	bool waits;     /* for the next look */
	uint32_t uid;   /* whose processes' events are lost */
	uint64_t nr;    /* of them, since the last look */
	bool missed;    /* some could not be followed */
	uint64_t last;  /* the last look for that; CLOCK_MONOTONIC, in ns */
	uint64_t pause; /* from then on */
	uint64_t told;  /* when it was told that it has no room for tables */
};

struct tablekeeper {
	int dev;
	bool verbose; /* complain of what can't be followed, or have a table */
	bool all;     /* every process is followed */
	int until;    /* a descriptor: to end when it can be read; or -1 */
	struct ow_kunwind_tally tally;
	/* The keeper's own; times of CLOCK_MONOTONIC, in ns: */
	uint64_t looked; /* when all processes were looked at last */
	uint64_t waited; /* for processes that hold their locks for long */
	struct tablekeeper_loss busy; /* processes that hold their locks */
	struct tablekeeper_loss losses[TABLEKEEPER_LOSSES]; /* by user */
	unsigned int may; /* events that may be served yet */
};

/* Open the device; false with a complaint. */
bool tablekeeper_open(struct tablekeeper *k);
void tablekeeper_close(struct tablekeeper *k);

/*
 * Follow a process, with all that it forks and executes, and hand in the tables
 * that it lacks; false, with a complaint, if it can't be followed.
 */
bool tablekeeper_follow(struct tablekeeper *k, pid_t pid);

/*
 * Follow those that are there, and all that begin; false with a complaint.  Return early
 * if it is to end meanwhile.
 */
bool tablekeeper_follow_all(struct tablekeeper *k);

/*
 * Wait until there is something to do, a signal comes, or k->until can be read; and do
 * it.  False, with a complaint, if that fails.
 */
bool tablekeeper_wait(struct tablekeeper *k);

/* Have all ended that were followed? */
bool tablekeeper_is_idle(const struct tablekeeper *k);

#endif /* OW_TABLEKEEPER_H */
