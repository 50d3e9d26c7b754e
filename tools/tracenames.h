/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which frames of a profile those of a trace's stacks are.
 *
 * Few places come in many stacks, and names can be long: the frames of a place are kept.
 * Any process can have places without end, too.  So what a CPU does for names has a limit,
 * and no process may have more than three quarters of what the others leave over.  After
 * that, places that aren't known are added by object and offset, and nothing is opened for
 * them.
 */
#ifndef OW_TRACENAMES_H
#define OW_TRACENAMES_H

#include "knownplaces.h"
#include "profile.h"
#include "shares.h"
#include "tracestack.h"

/* What is known of an object. */
struct trace_object {
	bool is_open;    /* or was tried to be */
	uint32_t module; /* string of the profile; 0: not added yet */
};

/* All zero, but for profile and work, has named nothing yet. */
struct trace_names {
	struct profile *profile;
	struct shares work; /* ns of a CPU, of processes */
	struct knownplaces known;
	struct trace_object *objects; /* by number */
	size_t nr_objects, room;
};

/* What all names may take. */
extern const struct shares trace_names_work;

/*
 * The numbers of frame i, at most OW_VIEW_NAMES; returns how many.  Has *is_placed_ret set
 * if there was no time for names.
 */
size_t trace_names_take(struct trace_names *n, const struct trace_stack *s,
			const struct tracemaps *maps, size_t i, uint32_t *ids,
			bool *is_placed_ret);

void trace_names_deinit(struct trace_names *n);

#endif /* OW_TRACENAMES_H */
