// SPDX-License-Identifier: BSD-2-Clause
#include "chainwalk.h"

#include "err.h"

#define START_SIZE 64 /* bytes of the code at a program's entry point */

struct chain {
	struct ow_copywalk *w;
	struct ow_imagewalk *by;
	/* Of the frame looked at: */
	uint64_t pc;
	const struct ow_range *range; /* or NULL */
	uint8_t flags;                /* enum ow_frame_flags */
	int err;                      /* of its row */
	struct ow_row row;
	struct ow_rule rules[OW_BRIEF_SAVES];
};

/* The row at addr: 0, or as ow_find_row() returns. */
static int find_row(struct chain *c, uint64_t addr)
{
	const struct ow_target *t = &c->by->target;
	struct ow_cache *cache = &c->w->cache;
	const struct ow_brief *b = ow_cache_get(cache, addr, t->map.generation);
	int err;

	if (b) {
		ow_brief_row(b, t->arch, &c->row, c->rules);
		return 0;
	}
	if (!c->range || !c->range->module)
		return -OW_ENOENT;
	err = ow_find_row(&c->w->walk.finder, t, c->range->module, addr,
			  &c->row);
	if (!err && !(c->row.flags & OW_ROW_LAST))
		ow_cache_put(cache, t->arch, addr, t->map.generation, &c->row);
	return err;
}

static bool is_trampoline(const struct chain *c, uint64_t pc)
{
	const struct ow_target *t = &c->by->target;
	const struct ow_sigframe *sf = t->arch->sigframes;
	struct ow_row row;
	uint8_t code[16];
	size_t i;

	for (i = 0; i < t->arch->nr_sigframes; i++, sf++)
		if (sf->code_size <= sizeof(code) &&
		    !t->mem.read(&t->mem, pc, code, sf->code_size) &&
		    ow_arch_signal_row(t->arch, code, sf->code_size, &row))
			return true;
	return false;
}

/* The trampoline has called the kernel: it is behind its code. */
static bool is_behind_trampoline(const struct chain *c)
{
	const struct ow_arch *arch = c->by->target.arch;
	size_t i;

	for (i = 0; i < arch->nr_sigframes; i++)
		if (is_trampoline(c, c->pc - arch->sigframes[i].code_size))
			return true;
	return false;
}

/* Is the caller one that was interrupted by a signal?  As core/walk.c has it. */
static bool is_signal(const struct chain *c, uint64_t addr)
{
	if (!c->err && c->row.flags & OW_ROW_SIGNAL)
		return true;
	if (!c->err && (!(c->row.flags & OW_ROW_LAST) || addr == c->pc))
		return false;
	if (is_trampoline(c, c->pc))
		return true;
	return c->err && !(c->flags & OW_FRAME_RETURN) &&
	       is_behind_trampoline(c);
}

/* Return true if the unwind data of the frame's module is there, or needn't be. */
static bool is_ready(const struct chain *c)
{
	const struct ow_module *m = c->range ? c->range->module : NULL;

	return !m || m->state != OW_MODULE_UNREAD ||
	       ow_imagewalk_ready(c->by, m);
}

/* Look at the frame at pc, whose callee called it or not. */
static void look(struct chain *c, uint64_t pc, uint8_t flags)
{
	uint64_t addr = pc - (flags & OW_FRAME_RETURN ? 1 : 0);

	c->pc = pc;
	c->flags = flags;
	c->range = ow_map_find(&c->by->target.map, addr);
	c->err = is_ready(c) ? find_row(c, addr) : -OW_ELIMIT;
	if (is_signal(c, addr))
		c->flags |= OW_FRAME_SIGNAL;
}

/* What the frame says of how its caller was found. */
static uint8_t how_next(const struct chain *c)
{
	if (c->flags & OW_FRAME_SIGNAL)
		return OW_HOW_SIGNAL;
	return c->err == -OW_ENOENT ? OW_HOW_FP : OW_HOW_TABLE;
}

/* Where programs start there may be no CFI. */
static bool is_start(const struct chain *c)
{
	const struct ow_module *m = c->range ? c->range->module : NULL;

	return m && m->entry && c->flags & OW_FRAME_RETURN &&
	       c->pc - m->bias - m->entry < START_SIZE;
}

/* Why there is nothing behind the frame. */
static enum ow_end end_at(const struct chain *c, bool is_full)
{
	if (!c->err && c->row.flags & OW_ROW_OUTERMOST)
		return OW_END_OUTERMOST;
	if (is_full)
		return OW_END_LIMIT;
	if (!c->range)
		return OW_END_NO_MODULE;
	if (c->err == -OW_ENOENT && !(c->flags & OW_FRAME_SIGNAL))
		return is_start(c) ? OW_END_OUTERMOST : OW_END_NO_CFI;
	return OW_END_NOT_YET;
}

size_t ow_chainwalk_run(struct ow_copywalk *w, struct ow_image *image,
			const uint64_t *pcs, size_t nr, bool is_full,
			size_t first, enum ow_end *end)
{
	struct chain c = { .w = w,
			   .by = ow_copywalk_by(w, image, &ow_arch_x86_64) };
	uint8_t how = OW_HOW_REGS, flags = 0;
	uint64_t share = ow_copywalk_cfi_left(w);
	size_t i;

	*end = OW_END_FAULT;
	if (!c.by)
		return 0;
	if (nr > w->max) {
		nr = w->max;
		is_full = true;
	}
	c.by->cfi_left = share;
	ow_copywalk_begin(w, c.by);
	ow_finder_reset(&w->walk.finder);
	for (i = 0; i < nr; i++) {
		look(&c, pcs[i], flags);
		w->packed[first + i] = OW_SAMPLE_FRAME(pcs[i], how, c.flags);
		how = how_next(&c);
		flags = c.flags & OW_FRAME_SIGNAL ? 0 : OW_FRAME_RETURN;
	}
	ow_copywalk_spend_cfi(w, share - c.by->cfi_left);
	*end = nr ? end_at(&c, is_full) : OW_END_FAULT;
	return nr;
}
