// SPDX-License-Identifier: BSD-2-Clause
#include "copywalk.h"

#include <stdlib.h>
#include <string.h>

#include "cfiwork.h"
#include "error.h"
#include "imageshares.h"
#include "monotonic.h"

#define CACHE_PAIRS 4096

/* ret, x86-64: alone, with a prefix for branch prediction, popping more. */
static const struct {
	uint8_t code[2], size;
} returns[] = { { { 0xc3 }, 1 }, { { 0xf3, 0xc3 }, 2 }, { { 0xc2 }, 1 } };

/* How walks see it isn't how it will be. */
static void forget(void *arg, struct ow_image *image)
{
	(void)arg;
	ow_imagewalk_destroy(image->walks[0]);
	ow_imagewalk_destroy(image->walks[1]);
	image->walks[0] = image->walks[1] = NULL;
}

int ow_copywalk_init(struct ow_copywalk *w, struct ow_images *images,
		     unsigned int max, struct ow_error *err)
{
	w->images = images;
	w->images->forget = forget;
	w->max = max;
	w->cfi_work = (struct ow_userefforts)OW_USEREFFORTS(
		OW_CFIWORK_MOST, OW_CFIWORK_A_SECOND);
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
	free(w->cache.entries);
	free(w->frames);
	free(w->packed);
}

struct ow_imagewalk *ow_copywalk_by(struct ow_copywalk *w,
				    struct ow_image *image,
				    const struct ow_arch *arch)
{
	struct ow_imagewalk **at = &image->walks[arch->word == 4];

	if (!*at)
		*at = ow_imagewalk_create(w->images, image, arch);
	return *at;
}

/* Walk on, reading the modules that it takes, as long as there is time for that. */
static enum ow_end run(struct ow_copywalk *w, struct ow_imagewalk *by)
{
	enum ow_end end;

	while ((end = ow_walk_run(&w->walk)) == OW_END_WANT)
		if (!ow_imagewalk_ready(by, w->walk.wanted))
			return OW_END_COSTLY;
	return end;
}

/* Is there no room for what is mapped at the frame? */
static bool has_no_room(const struct ow_image *image, const struct ow_frame *f)
{
	const struct ow_bpf_range *r =
		ow_image_range(image, ow_frame_lookup_pc(f));

	return r && r->mapped == OW_BPF_NO_ROOM;
}

/*
 * A function that is about to return has all of its caller's registers, also
 * where its CFI still says that they are on the stack: below sp, of which there
 * is no copy.  Walk on from the caller then, whose frame was found.
 */
static enum ow_end retry(struct ow_copywalk *w, struct ow_imagewalk *by,
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
	return run(w, by);
}

uint64_t ow_copywalk_cfi_left(struct ow_copywalk *w)
{
	return ow_userefforts_left(&w->cfi_work, ow_owner_of(w->uid).share) /
	       OW_CFIWORK_SHARES;
}

void ow_copywalk_spend_cfi(struct ow_copywalk *w, uint64_t bytes)
{
	ow_userefforts_spend(&w->cfi_work, ow_owner_of(w->uid).share, bytes);
}

static enum ow_end walk(struct ow_copywalk *w, struct ow_imagewalk *by,
			const struct ow_window *stack,
			const struct ow_regs *regs)
{
	uint64_t share = ow_copywalk_cfi_left(w);
	enum ow_end end;

	by->cfi_left = share;
	ow_walk_begin(&w->walk, &by->target, stack, &w->cache, regs, w->frames,
		      w->max);
	end = run(w, by);
	if (end == OW_END_UNKNOWN)
		end = retry(w, by, stack, *regs);
	ow_copywalk_spend_cfi(w, share - by->cfi_left);
	return end;
}

static void forget_rows(struct ow_copywalk *w)
{
	memset(w->cache.entries, 0,
	       2 * ((size_t)w->cache.mask + 1) * sizeof(*w->cache.entries));
}

void ow_copywalk_begin(struct ow_copywalk *w, struct ow_imagewalk *by)
{
	if (ow_imagewalk_begin(by))
		forget_rows(w);
}

/* Walk again without each object that turns out to be cut off. */
static enum ow_end walk_uncut(struct ow_copywalk *w, struct ow_imagewalk *by,
			      const struct ow_window *stack,
			      const struct ow_regs *regs)
{
	enum ow_end end = walk(w, by, stack, regs);

	while (ow_imagewalk_lose_cut(by)) {
		forget_rows(w);
		end = walk(w, by, stack, regs);
	}
	return end;
}

static enum ow_end walk_timed(struct ow_copywalk *w, struct ow_imagewalk *by,
			      const struct ow_window *stack,
			      const struct ow_regs *regs)
{
	uint64_t begun = ow_cpu_ns();
	enum ow_end end = walk_uncut(w, by, stack, regs);

	ow_imageshares_walked(w->images, w->uid, w->time, ow_cpu_ns() - begun);
	return end;
}

/* The innermost frame, which is all that can be told where there is no room, or no time. */
static void take_innermost(struct ow_copywalk *w, const struct ow_arch *arch,
			   const struct ow_regs *regs)
{
	w->frames[0] = (struct ow_frame){ .pc = regs->val[arch->pc],
					  .sp = regs->val[arch->sp],
					  .how = OW_HOW_REGS };
}

size_t ow_copywalk_run(struct ow_copywalk *w, struct ow_image *image,
		       const struct ow_arch *arch, const struct ow_regs *regs,
		       const struct ow_window *stack, size_t first,
		       enum ow_end *end_ret)
{
	struct ow_imagewalk *by = ow_copywalk_by(w, image, arch);
	const struct ow_frame *f;
	size_t i, nr = 1;

	*end_ret = OW_END_FAULT;
	if (!by)
		return 0;
	by->stack = *stack;
	by->live = w->live;
	ow_copywalk_begin(w, by);
	take_innermost(w, arch, regs);
	if (has_no_room(image, &w->frames[0])) {
		*end_ret = OW_END_NO_ROOM;
	} else if (!ow_imageshares_may_walk(w->images, w->uid, w->time)) {
		*end_ret = OW_END_COSTLY;
	} else {
		*end_ret = walk_timed(w, by, stack, regs);
		nr = w->walk.nr;
	}
	if (*end_ret == OW_END_NO_MODULE && nr &&
	    has_no_room(image, &w->frames[nr - 1]))
		*end_ret = OW_END_NO_ROOM;
	for (i = 0; i < nr; i++) {
		f = &w->frames[i];
		w->packed[first + i] = OW_SAMPLE_FRAME(f->pc, f->how, f->flags);
	}
	return nr;
}
