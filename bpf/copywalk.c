// SPDX-License-Identifier: BSD-2-Clause
#include "copywalk.h"

#include <stdlib.h>
#include <string.h>

#include "error.h"

#define CACHE_PAIRS 4096

/* ret, x86-64: alone, with a prefix for branch prediction, popping more. */
static const struct {
	uint8_t code[2], size;
} returns[] = { { { 0xc3 }, 1 }, { { 0xf3, 0xc3 }, 2 }, { { 0xc2 }, 1 } };

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

struct ow_imagewalk *ow_copywalk_by(struct ow_copywalk *w,
				    const struct ow_image *image,
				    const struct ow_arch *arch)
{
	size_t at = 2 * ((size_t)image->id - 1) + (arch->word == 4);
	size_t room = w->nr_walks;
	struct ow_imagewalk **more;

	if (at >= room) {
		room = 2 * (at + 1);
		more = realloc(w->walks, room * sizeof(*more));
		if (!more)
			return NULL;
		memset(more + w->nr_walks, 0,
		       (room - w->nr_walks) * sizeof(*more));
		w->walks = more;
		w->nr_walks = room;
	}
	if (!w->walks[at])
		w->walks[at] = ow_imagewalk_create(w->images, image, arch);
	return w->walks[at];
}

void ow_copywalk_forget(struct ow_copywalk *w, uint32_t image)
{
	size_t at = 2 * ((size_t)image - 1), end = at + 2;

	for (; at < end && at < w->nr_walks; at++) {
		ow_imagewalk_destroy(w->walks[at]);
		w->walks[at] = NULL;
	}
}

/*
 * A function that is about to return has all of its caller's registers, also
 * where its CFI still says that they are on the stack: below sp, of which there
 * is no copy.  Walk on from the caller then, whose frame was found.
 */
static enum ow_end retry(struct ow_copywalk *w, const struct ow_imagewalk *by,
			 const struct ow_window *stack, struct ow_regs regs)
{
	const struct ow_arch *arch = by->target.arch;
	struct ow_frame *f = w->frames;
	uint8_t code[2];
	unsigned int i;

	if (w->walk.nr < 2 || f[1].sp != f[0].sp + arch->word ||
	    by->target.mem.read(&by->target.mem, f[0].pc, code, sizeof(code)))
		return w->walk.end;
	for (i = 0; i < OW_ARRAY_SIZE(returns); i++)
		if (memcmp(code, returns[i].code, returns[i].size) == 0)
			break;
	if (i == OW_ARRAY_SIZE(returns))
		return w->walk.end;
	ow_regs_set(&regs, arch->pc, f[1].pc);
	ow_regs_set(&regs, arch->sp, f[1].sp);
	ow_walk_begin(&w->walk, &by->target, stack, &w->cache, &regs, f,
		      w->max);
	w->walk.nr = 2;
	return ow_walk_run(&w->walk);
}

static enum ow_end walk(struct ow_copywalk *w, const struct ow_imagewalk *by,
			const struct ow_window *stack,
			const struct ow_regs *regs)
{
	enum ow_end end;

	ow_walk_begin(&w->walk, &by->target, stack, &w->cache, regs, w->frames,
		      w->max);
	end = ow_walk_run(&w->walk);
	return end == OW_END_UNKNOWN ? retry(w, by, stack, *regs) : end;
}

size_t ow_copywalk_run(struct ow_copywalk *w, const struct ow_image *image,
		       const struct ow_arch *arch, const struct ow_regs *regs,
		       const struct ow_window *stack, size_t first,
		       enum ow_end *end_ret)
{
	struct ow_imagewalk *by = ow_copywalk_by(w, image, arch);
	const struct ow_frame *f;
	size_t i;

	*end_ret = OW_END_FAULT;
	if (!by)
		return 0;
	by->stack = *stack;
	by->live = w->live;
	*end_ret = walk(w, by, stack, regs);
	while (ow_imagewalk_lose_cut(by)) {
		memset(w->cache.entries, 0,
		       2 * ((size_t)w->cache.mask + 1) *
			       sizeof(*w->cache.entries));
		*end_ret = walk(w, by, stack, regs);
	}
	for (i = 0; i < w->walk.nr; i++) {
		f = &w->frames[i];
		w->packed[first + i] = OW_SAMPLE_FRAME(f->pc, f->how, f->flags);
	}
	return w->walk.nr;
}
