// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#include <linux/export.h>
#include <linux/mm.h>
#include <linux/sched/task_stack.h>
#include <linux/wait.h>

#include "kcontext.h"
#include "klater.h"
#include "kquick.h"
#include "kregs.h"
#include "kspace.h"
#include "kstats.h"
#include "kunwind.h"
#include "kwalk.h"

static int check_args(unsigned int *max)
{
	if (*max == 0 || !current->mm || current->flags & PF_KTHREAD)
		return -EINVAL;
	*max = min_t(unsigned int, *max, KUNWIND_MAX_FRAMES);
	return 0;
}

/*
 * What came of walk(): the number of frames and the end, or what failed.  Who isn't
 * followed has no walk that ended.
 */
static int finish(const struct kw_context *c, int result, enum ow_end *end)
{
	if (result < 0)
		return result;
	*end = result;
	if (c->walk.end == OW_END_NOT_YET) {
		kw_count(unmapped);
		return c->walk.nr;
	}
	kw_count(walks);
	kw_count_more(frames, c->walk.nr);
	kw_count(ends[result % ARRAY_SIZE(kw_counters.ends)]);
	return c->walk.nr;
}

/*
 * There is no context: it is in use, or nobody was ever followed, so that the first
 * frame is all that can be told.
 */
static noinline int without_context(struct pt_regs *regs,
				    struct ow_frame *first, enum ow_end *end)
{
	if (kw_contexts_ready()) {
		kw_count(busy);
		return -EBUSY;
	}
	*first = (struct ow_frame){ .how = OW_HOW_REGS };
	kw_regs_place(regs, &first->pc, &first->sp);
	*end = OW_END_NO_MODULE;
	kw_count(unmapped);
	return 1;
}

/* Fill the first frame and hand it over. */
static noinline int each_without_context(struct pt_regs *regs,
					 bool (*each)(void *arg, u64 pc),
					 void *arg, enum ow_end *end)
{
	struct ow_frame first;
	int nr = without_context(regs, &first, end);

	if (nr > 0)
		each(arg, first.pc);
	return nr;
}

static bool store(void *pcs, u64 pc)
{
	*(unsigned long *)pcs = pc;
	return true;
}

/* From the first frame on, to the end. */
static noinline enum ow_end run(struct kw_context *c)
{
	struct ow_walk *w = &c->walk;
	enum ow_end end;

	if (w->nr == w->max)
		return w->end = OW_END_LIMIT;
	do {
		end = kw_quick_run(c);
		if (end == OW_END_NOT_YET)
			end = ow_walk_advance(w);
	} while (end == OW_END_NOT_YET);
	return end;
}

/* Have the context walk by the map, and forget rows that another map may have had. */
static __always_inline void set_map(struct kw_context *c, struct kw_map *map)
{
	u64 generation = kw_map_generation(map);

	if (unlikely(c->high != upper_32_bits(generation))) {
		memset(c->rows, 0, sizeof(c->rows));
		c->high = upper_32_bits(generation);
	}
	c->target.map = map->map;
	c->target.map.generation = lower_32_bits(generation);
}

/*
 * The context is got, so that it holds what goes in and comes out: not the stack.
 * What is last here is run(), and this in the next, so that nothing of theirs is
 * on the stack then.  The map, which does not go meanwhile, is NULL for a process
 * that nobody follows: its pc is all that can be told.  Return the end, or
 * -EOPNOTSUPP.
 */
static __always_inline int walk(struct kw_context *c, struct kw_map *map,
				struct pt_regs *regs)
{
	struct ow_walk *w = &c->walk;

	c->target.arch = kw_regs(regs, &w->regs);
	if (!c->target.arch)
		return -EOPNOTSUPP;
	if (map && map->arch != c->target.arch)
		map = NULL;
	if (map)
		set_map(c, map);
	c->read_for = 0;
	ow_walk_begin(w, &c->target, NULL, &c->cache, &w->regs, w->frames,
		      w->max);
	ow_walk_first(w);
	return map ? run(c) : OW_END_NO_MODULE;
}

/* Any context. */
static noinline int walk_current(struct kw_context *c, struct pt_regs *regs)
{
	return walk(c, kw_space_map(current->mm), regs);
}

static void set_room(struct kw_context *c, struct ow_frame *frames,
		     unsigned int max)
{
	c->walk.frames = frames;
	c->walk.max = max;
}

int kunwind_user_stack(struct pt_regs *regs, struct ow_frame *frames,
		       unsigned int max, enum ow_end *end)
{
	struct kw_context *c;
	int nr = check_args(&max);

	if (nr)
		return nr;
	c = kw_context_get();
	if (!c)
		return without_context(regs, frames, end);
	set_room(c, frames, max);
	nr = finish(c, walk_current(c, regs), end);
	kw_context_put(c);
	return nr;
}

EXPORT_SYMBOL_GPL(kunwind_user_stack);

int kunwind_user_stack_faulting(struct pt_regs *regs, struct ow_frame *frames,
				unsigned int max, enum ow_end *end)
{
	struct kw_context *c;
	struct kw_map *map;
	int nr = check_args(&max);

	if (nr)
		return nr;
	c = kw_context_create();
	if (!c)
		return -ENOMEM;
	map = kw_space_map_get(current->mm);
	set_room(c, frames, max);
	nr = finish(c, walk(c, map, regs), end);
	kw_map_put(map);
	kw_context_destroy(c);
	return nr;
}

EXPORT_SYMBOL_GPL(kunwind_user_stack_faulting);

int kw_walk_each(struct pt_regs *regs, unsigned int max,
		 bool (*each)(void *arg, u64 pc), void *arg, enum ow_end *end)
{
	struct kw_context *c;
	int nr = check_args(&max), i;

	if (nr)
		return nr;
	c = kw_context_get();
	if (!c)
		return each_without_context(regs, each, arg, end);
	set_room(c, c->frames, max);
	nr = finish(c, walk_current(c, regs), end);
	for (i = 0; i < nr; i++)
		if (!each(arg, c->frames[i].pc))
			break;
	kw_context_put(c);
	return nr;
}

int kunwind_user_pcs(struct pt_regs *regs, unsigned long *pcs, unsigned int max,
		     enum ow_end *end)
{
	const struct ow_frame *frames;
	struct kw_context *c;
	int nr = check_args(&max), i;

	if (nr)
		return nr;
	c = kw_context_get();
	if (!c)
		return each_without_context(regs, store, pcs, end);
	set_room(c, c->frames, max);
	nr = finish(c, walk_current(c, regs), end);
	frames = c->walk.frames;
	for (i = 0; i < nr; i++)
		pcs[i] = frames[i].pc;
	kw_context_put(c);
	return nr;
}

EXPORT_SYMBOL_GPL(kunwind_user_pcs);

void save_stack_trace_kunwind(struct kunwind_stack_trace *trace)
{
	unsigned int room = trace->max_entries - trace->nr_entries;
	unsigned long *to = trace->entries + trace->nr_entries;
	enum ow_end end;
	int nr, skip;

	if (trace->nr_entries >= trace->max_entries)
		return;
	nr = kunwind_user_pcs(task_pt_regs(current), to, room, &end);
	skip = min(max(trace->skip, 0), max(nr, 0));
	if (nr > 0) {
		memmove(to, to + skip, (nr - skip) * sizeof(*to));
		trace->nr_entries += nr - skip;
	}
	if (trace->nr_entries < trace->max_entries)
		trace->entries[trace->nr_entries++] = ULONG_MAX;
}

EXPORT_SYMBOL_GPL(save_stack_trace_kunwind);

static atomic_t nr_deferred = ATOMIC_INIT(0);
static DECLARE_WAIT_QUEUE_HEAD(none_deferred);

static void deferred_done(void)
{
	if (atomic_dec_and_test(&nr_deferred))
		wake_up_all(&none_deferred);
}

static void run_deferred(void *arg)
{
	struct kunwind_deferred *d = arg;
	struct ow_frame *frames;
	enum ow_end end = OW_END_NOT_YET;
	int nr = -ENOMEM;

	frames = kvmalloc_array(d->max, sizeof(*frames), GFP_KERNEL_ACCOUNT);
	if (frames)
		nr = kunwind_user_stack_faulting(task_pt_regs(current), frames,
						 d->max, &end);
	d->func(d, frames, nr, end);
	kvfree(frames);
	deferred_done();
}

int kunwind_user_stack_deferred(struct kunwind_deferred *d)
{
	int err = check_args(&d->max);

	if (err)
		return err;
	atomic_inc(&nr_deferred);
	err = kw_later(current, run_deferred, d);
	if (err)
		deferred_done();
	return err;
}

EXPORT_SYMBOL_GPL(kunwind_user_stack_deferred);

void kunwind_deferred_flush(void)
{
	wait_event(none_deferred, atomic_read(&nr_deferred) == 0);
}

EXPORT_SYMBOL_GPL(kunwind_deferred_flush);
