// SPDX-License-Identifier: BSD-2-Clause
#include "stackwalks.h"

#include <stdlib.h>

#include "grow.h"

#define MANY_FRAMES (1U << 20)

bool stackwalks_init(struct stackwalks *w, struct ow_capture *c,
		     struct ow_symbolizer *symbolizer, size_t max_frames,
		     size_t most)
{
	*w = (struct stackwalks){ .c = c,
				  .symbolizer = symbolizer,
				  .max_frames = max_frames };
	w->list = calloc(most + 1, sizeof(*w->list));
	return w->list;
}

void stackwalks_add(struct stackwalks *w, size_t thread)
{
	w->list[w->nr++].thread = thread;
}

static bool walk(struct stackwalks *w, struct stackwalk *stack)
{
	stack->first = w->nr_frames;
	if (!ow_grow(&w->frames, &w->room_frames, w->nr_frames + w->max_frames,
		     sizeof(*w->frames)))
		return false;
	if (!ow_capture_thread(w->c, stack->thread)->captured)
		return true;
	stack->nr = ow_capture_walk(w->c, stack->thread,
				    w->frames + w->nr_frames, w->max_frames,
				    &stack->end, &stack->why);
	w->nr_frames += stack->nr;
	return true;
}

/* Walk further stacks until they have many frames, and prepare their names. */
static bool walk_some(struct stackwalks *w)
{
	w->nr_frames = 0;
	for (; w->walked < w->nr && w->nr_frames < MANY_FRAMES; w->walked++)
		if (!walk(w, &w->list[w->walked]))
			return false;
	if (w->symbolizer)
		ow_symbolizer_prepare(w->symbolizer, w->frames, w->nr_frames);
	return true;
}

const struct ow_frame *stackwalks_frames(struct stackwalks *w, size_t i)
{
	if (i >= w->walked && !walk_some(w))
		return NULL;
	return w->frames + w->list[i].first;
}

void stackwalks_deinit(struct stackwalks *w)
{
	free(w->list);
	free(w->frames);
	*w = (struct stackwalks){ .c = NULL };
}
