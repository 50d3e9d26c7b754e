// SPDX-License-Identifier: BSD-2-Clause
#include "copywalk.h"

#include <stdlib.h>
#include <string.h>

#include "error.h"

#define CACHE_PAIRS 4096

int ow_copywalk_init(struct ow_copywalk *w, struct ow_images *images,
		     unsigned int max, struct ow_error *err)
{
	w->images = images;
	w->max = max;
	w->frames = calloc(max, sizeof(*w->frames));
	w->packed = calloc((size_t)max + OW_BPF_KERNEL, sizeof(*w->packed));
	w->cache.entries =
		calloc((size_t)2 * CACHE_PAIRS, sizeof(*w->cache.entries));
	w->cache.mask = CACHE_PAIRS - 1;
	if (!w->frames || !w->packed || !w->cache.entries)
		return ow_fail(err, OW_CODE_MEMORY, "out of memory");
	return 0;
}

void ow_copywalk_deinit(struct ow_copywalk *w)
{
	size_t i;

	for (i = 0; i < w->nr_walks; i++)
		ow_imagewalk_destroy(w->walks[i]);
	free(w->walks);
	free(w->cache.entries);
	free(w->frames);
	free(w->packed);
}

/* How walks see an image; NULL when out of memory. */
static struct ow_imagewalk *walk_of(struct ow_copywalk *w,
				    const struct ow_image *image)
{
	size_t room = w->nr_walks;
	struct ow_imagewalk **more;

	if (image->id > room) {
		room = 2 * (size_t)image->id;
		more = realloc(w->walks, room * sizeof(*more));
		if (!more)
			return NULL;
		memset(more + w->nr_walks, 0,
		       (room - w->nr_walks) * sizeof(*more));
		w->walks = more;
		w->nr_walks = room;
	}
	if (!w->walks[image->id - 1])
		w->walks[image->id - 1] = ow_imagewalk_create(w->images, image);
	return w->walks[image->id - 1];
}

size_t ow_copywalk_run(struct ow_copywalk *w, const struct ow_image *image,
		       const struct ow_regs *regs,
		       const struct ow_window *stack, size_t first,
		       enum ow_end *end_ret)
{
	struct ow_imagewalk *by = walk_of(w, image);
	const struct ow_frame *f;
	size_t i;

	*end_ret = OW_END_FAULT;
	if (!by)
		return 0;
	by->stack = *stack;
	ow_walk_begin(&w->walk, &by->target, stack, &w->cache, regs, w->frames,
		      w->max);
	*end_ret = ow_walk_run(&w->walk);
	for (i = 0; i < w->walk.nr; i++) {
		f = &w->frames[i];
		w->packed[first + i] = OW_SAMPLE_FRAME(f->pc, f->how, f->flags);
	}
	return w->walk.nr;
}
