/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Moves of code by mremap(2), of which perf's records of mappings tell nothing: the
 * calls come as samples of an event of their own, of all processes, before they are
 * done.  Each process that shares the memory, and has code known there, is marked.
 */
#ifndef OW_PERFMOVES_H
#define OW_PERFMOVES_H

#include "images.h"
#include "perfring.h"

#define OW_PERFMOVES_OTHERS 64

/* A process that was seen to move memory. */
struct ow_perfother {
	pid_t pid;
	pid_t kin; /* a user of a family with that memory, or 0: there is none */
	uint64_t asked; /* CLOCK_MONOTONIC, ns: for which that was so, */
	uint64_t begun; /* of so many users */
};

/* All zero: not opened. */
struct ow_perfmoves {
	bool is_open;
	bool by_tracepoint;
	struct ow_perfother others[OW_PERFMOVES_OTHERS];
	uint64_t begun;    /* CLOCK_MONOTONIC, ns: the reading, */
	unsigned int work; /* and what calls may take yet until the next one */
	uint64_t nr_lost;  /* calls that there was no room for */
};

/*
 * Open the events, by rings of their own, once.  Where the kernel has none, or no
 * descriptors are left, moves are not told.
 */
void ow_perfmoves_open(struct ow_perfmoves *m, struct ow_perfrings *r,
		       struct ow_images *im);

/* A reading of records begins. */
void ow_perfmoves_begin(struct ow_perfmoves *m);

/* Take a record of such a ring. */
void ow_perfmoves_take(struct ow_perfmoves *m, struct ow_images *im,
		       const struct perf_event_header *h);

/*
 * A look has shown other code of a user than was known, of which nothing was told: where
 * calls were lost since the look before (user->checked), one of these may have moved it.
 */
void ow_perfmoves_note_untold(const struct ow_images *im,
			      struct ow_image_user *user);

/* Tell of calls that were lost (ow_left_out()). */
void ow_perfmoves_end(const struct ow_perfmoves *m);

/* Return true if code may have moved since the user's memory was looked at. */
bool ow_perfmoves_has_moved(const struct ow_images *im,
			    const struct ow_image_user *user);

#endif /* OW_PERFMOVES_H */
