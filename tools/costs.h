/* SPDX-License-Identifier: BSD-2-Clause */
/* How values of many samples are distributed, in room that has a limit. */
#ifndef COSTS_H
#define COSTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define COSTS_MOST 131072

/* All zero: none yet. */
struct costs {
	uint64_t nr; /* values, of which so many are kept: */
	size_t nr_kept, room;
	uint64_t *list;
	uint64_t least, most;
	uint64_t chance; /* the state of a generator */
};

/*
 * One value more.  Of more than COSTS_MOST each is kept with the same
 * probability.  False when out of memory.
 */
bool costs_note(struct costs *c, uint64_t value);

/*
 * What share (0 to 1) of the values don't exceed, 0 if there are none.  The
 * least and the most are of all, what is between of those kept.  Orders them.
 */
uint64_t costs_share(struct costs *c, double share);

void costs_free(struct costs *c);

#endif /* COSTS_H */
