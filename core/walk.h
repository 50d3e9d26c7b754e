/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* From a thread's registers to its frames, until there is a reason to stop. */
#ifndef OW_WALK_H
#define OW_WALK_H

#include "cache.h"
#include "find.h"
#include "step.h"

/* The address whose row, function and line the frame has. */
static inline uint64_t ow_frame_lookup_pc(const struct ow_frame *f)
{
	bool back = f->flags & OW_FRAME_RETURN && !(f->flags & OW_FRAME_SIGNAL);

	return f->pc - back;
}

/* A walk.  The caller owns it; about 6 KiB, so not on a kernel stack. */
struct ow_walk {
	struct ow_step step;    /* with target and stack window */
	struct ow_cache *cache; /* or NULL */
	/* Of the last frame found; after some ends, of what was refused behind
	   it. */
	struct ow_regs regs;
	struct ow_finder finder;

	struct ow_frame *frames; /* the caller's array */
	unsigned int nr, max;

	enum ow_end end;
	int err;                  /* negated enum ow_err behind it, or 0 */
	struct ow_module *wanted; /* after OW_END_WANT */

	uint64_t addr; /* that the last frame's row is looked up by */
	const struct ow_range *range; /* looked up last, of this run, or NULL */
	uint64_t mark_pc, mark_sp;    /* a frame seen before, to find cycles */
	unsigned int mark_at;
	bool guessed; /* sp of the last frame is a guess: rows in the cache are
			 taken by ow_walk_advance() alone */
};

/*
 * Begin at regs (copied; or the walk's own), to fill up to max frames.  stack may
 * be NULL.
 * Everything is borrowed until the last ow_walk_run().
 */
void ow_walk_begin(struct ow_walk *w, const struct ow_target *target,
		   const struct ow_window *stack, struct ow_cache *cache,
		   const struct ow_regs *regs, struct ow_frame *frames,
		   unsigned int max);

/*
 * Go on until there is a reason to stop; w->nr frames are then in the array.
 * After OW_END_WANT the caller makes w->wanted ready and calls again.
 */
enum ow_end ow_walk_run(struct ow_walk *w);

/*
 * The same by pieces, for who goes along cached rows (runbrief.h) by ways of his
 * own: the first frame, once; and at least one frame more, or a row in the cache,
 * while that returns OW_END_NOT_YET.  The map is that of ow_walk_begin() yet.
 */
void ow_walk_first(struct ow_walk *w);
enum ow_end ow_walk_advance(struct ow_walk *w);

/* One line for people; never NULL. */
const char *ow_end_text(enum ow_end end);
const char *ow_how_text(enum ow_how how);

#endif /* OW_WALK_H */
