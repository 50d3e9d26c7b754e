/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The stacks of a capture, in the order in which they are printed.  A process may have
 * any number of threads, on few stacks: so some are walked, and then these are named,
 * together, and printed.
 */
#ifndef OW_STACKWALKS_H
#define OW_STACKWALKS_H

#include <outwind/outwind.h>

/* The stack of a thread of the capture; without frames if it was not captured. */
struct stackwalk {
	size_t thread; /* its place in the capture */
	size_t first; /* frame among those that are there now; see stackwalks_frames() */
	size_t nr;
	enum ow_end end;
	struct ow_error why; /* where end is not OW_END_OUTERMOST */
};

struct stackwalks {
	struct ow_capture *c;
	struct ow_symbolizer *symbolizer; /* that names the frames; or NULL */
	size_t max_frames;                /* of a stack */
	struct stackwalk *list;
	size_t nr, walked; /* all, and those until now */
	struct ow_frame *frames;
	size_t nr_frames, room_frames;
};

/*
 * Begin with no stack, and room for most.  Free by stackwalks_deinit().  Return false if
 * there is no memory.
 */
bool stackwalks_init(struct stackwalks *w, struct ow_capture *c,
		     struct ow_symbolizer *symbolizer, size_t max_frames,
		     size_t most);

/* Add the stack of a thread, by its place in the capture. */
void stackwalks_add(struct stackwalks *w, size_t thread);

/*
 * The frames of the i-th stack, which are there until those of another one are asked for.
 * To be asked for in order.  NULL: there is no memory.
 */
const struct ow_frame *stackwalks_frames(struct stackwalks *w, size_t i);

void stackwalks_deinit(struct stackwalks *w);

#endif /* OW_STACKWALKS_H */
