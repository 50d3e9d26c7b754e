/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How much CPU time a run may take to walk stacks of a user's processes, beyond what frames
 * take as a rule: anybody can have many threads on one stack, and a file in which each frame
 * takes a hundred times as long.  What was taken comes back as time goes by.
 */
#ifndef OW_WALKTIME_H
#define OW_WALKTIME_H

#include <stdbool.h>
#include <stdint.h>

/* Of one capture; all zero to begin with. */
struct ow_walktime {
	uint32_t share;  /* whose time it is, as owners have it (owner.h) */
	unsigned int nr; /* pieces of the present walk; the first isn't timed */
	uint64_t left;   /* ns that the others may still take */
	uint64_t since;  /* when the present one began, by one of the clocks */
	unsigned int closer; /* pieces to be timed by the clock of CPU time */
};

/* A walk begins. */
static inline void ow_walktime_begin(struct ow_walktime *t)
{
	t->nr = 0;
}

/*
 * Begin a piece of the walk, and return how many frames it has at most.  Few stacks have
 * more than the first piece; all others of a walk may take a quarter of what the user may.
 */
unsigned int ow_walktime_piece(struct ow_walktime *t);

/* The walk goes on. */
void ow_walktime_start(struct ow_walktime *t);

/*
 * It has made so many frames since.  Return false if they took long, and the walk may
 * take no more.
 */
bool ow_walktime_stop(struct ow_walktime *t, unsigned int nr);

#endif /* OW_WALKTIME_H */
