/* SPDX-License-Identifier: BSD-2-Clause */
/* The stacks that tbstack shows: all are walked, then all are named. */
#ifndef OW_TBSTACKS_H
#define OW_TBSTACKS_H

#include "tbthreads.h"

struct tb_stack {
	struct ow_thread thread;
	size_t number;    /* in its heading */
	size_t first, nr; /* its frames among all */
	enum ow_end end;
	struct ow_error why; /* where end is not OW_END_OUTERMOST */
};

struct tb_stacks {
	struct tb_stack *list;
	size_t nr;
	struct ow_frame *frames; /* of all stacks, one after another */
	size_t nr_frames, room_frames;
};

/*
 * Walk the chosen threads, or all if chosen->tids is NULL, in the order in
 * which they are shown.  Return false if memory ran out.  Free with
 * tb_stacks_free() in any case.
 */
bool tb_stacks_walk(struct tb_stacks *ret, struct ow_capture *c,
		    const struct tb_threads *chosen);

/* Print them on stdout; whether each is whole, or only too long. */
bool tb_stacks_print(const struct tb_stacks *s, const struct tb_args *args,
		     struct ow_symbolizer *symbolizer);

void tb_stacks_free(struct tb_stacks *s);

#endif /* OW_TBSTACKS_H */
