/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Stacks of a trace's events, counted into a profile.
 *
 * Any process can have stacks without end that are all different.  So the profile has
 * a limit, a quarter of the run's memory, and no process may add more than half of what
 * the others leave over.  After that, new stacks of the process are counted by a frame
 * that says so; those that the profile has already are counted as before.
 */
#ifndef OW_TRACECOUNT_H
#define OW_TRACECOUNT_H

#include "ctfreader.h"
#include "profile.h"
#include "shares.h"
#include "tracestack.h"

enum trace_grouping {
	TRACE_BY_EVENT, /* what is outermost in a profile's stacks */
	TRACE_BY_PROCESS,
	TRACE_BY_NOTHING,
};

struct tracecount {
	struct profile *profile;
	enum trace_grouping by;
	struct shares processes; /* bytes that they have added */
	uint64_t folded;         /* events whose stack was left out */
	uint32_t nr_folded;      /* stacks that stand for those */
};

void tracecount_init(struct tracecount *c, struct profile *p,
		     enum trace_grouping by);

/* Count a stack; end is of what its event began, or NULL. */
void tracecount_add(struct tracecount *c, const struct tracemaps *maps,
		    const struct trace_stack *s, const struct ctf_event *end);

void tracecount_deinit(struct tracecount *c);

#endif /* OW_TRACECOUNT_H */
