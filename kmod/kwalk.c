// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#include <linux/export.h>
#include <linux/mm.h>
#include <linux/sched/task_stack.h>
#include <linux/wait.h>

#include "kcontext.h"
#include "klater.h"
#include "kregs.h"
#include "kspace.h"
#include "kstats.h"
#include "kunwind.h"
#include "kwalk.h"

/* A process that nobody follows: its pc is all that can be told. */
static int only_pc(const struct ow_regs *user, const struct ow_arch *arch,
		   struct ow_frame *frames, enum ow_end *end)
{
	frames[0] = (struct ow_frame){
		.pc = user->val[arch->pc],
		.sp = user->val[arch->sp],
		.how = OW_HOW_REGS,
	};
	*end = OW_END_NO_MODULE;
	kw_count(unmapped);
	return 1;
}

static int count(const struct kw_context *c)
{
	kw_count(walks);
	kw_count_more(frames, c->walk.nr);
	kw_count(ends[c->walk.end % ARRAY_SIZE(kw_counters.ends)]);
	return c->walk.nr;
}

static int check_args(unsigned int *max)
{
	if (*max == 0 || !current->mm || current->flags & PF_KTHREAD)
		return -EINVAL;
	*max = min_t(unsigned int, *max, KUNWIND_MAX_FRAMES);
	return 0;
}

/* The context is got, so that it holds the registers, too: not the stack. */
static int walk(struct kw_context *c, const struct kw_map *map,
		struct pt_regs *regs, struct ow_frame *frames, unsigned int max,
		enum ow_end *end)
{
	struct ow_regs *user = &c->walk.regs;
	const struct ow_arch *arch = kw_regs(regs, user);

	if (!arch)
		return -EOPNOTSUPP;
	if (!map || map->arch != arch)
		return only_pc(user, arch, frames, end);
	kw_context_walk(c, map, user, frames, max);
	*end = c->walk.end;
	return count(c);
}

/* The context is got; any context. */
static int walk_current(struct kw_context *c, struct pt_regs *regs,
			struct ow_frame *frames, unsigned int max,
			enum ow_end *end)
{
	const struct kw_space *space;
	int nr;

	rcu_read_lock();
	space = kw_space_find(current->mm);
	nr = walk(c, space ? rcu_dereference(space->map) : NULL, regs, frames,
		  max, end);
	rcu_read_unlock();
	return nr;
}

int kunwind_user_stack(struct pt_regs *regs, struct ow_frame *frames,
		       unsigned int max, enum ow_end *end)
{
	struct kw_context *c;
	int nr = check_args(&max);

	if (nr)
		return nr;
	c = kw_context_get();
	if (!c) {
		kw_count(busy);
		return -EBUSY;
	}
	nr = walk_current(c, regs, frames, max, end);
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
	nr = walk(c, map, regs, frames, max, end);
	kw_map_put(map);
	kw_context_destroy(c);
	return nr;
}

EXPORT_SYMBOL_GPL(kunwind_user_stack_faulting);

/* Walk into the context's own frames; the caller puts it.  NULL: it is busy. */
static struct kw_context *walk_own(struct pt_regs *regs, unsigned int max,
				   enum ow_end *end, int *nr)
{
	struct kw_context *c = kw_context_get();

	if (!c) {
		kw_count(busy);
		*nr = -EBUSY;
		return NULL;
	}
	*nr = walk_current(c, regs, c->frames, max, end);
	return c;
}

int kw_walk_each(struct pt_regs *regs, unsigned int max,
		 bool (*each)(void *arg, u64 pc), void *arg, enum ow_end *end)
{
	struct kw_context *c;
	int nr = check_args(&max), i;

	if (nr)
		return nr;
	c = walk_own(regs, max, end, &nr);
	if (!c)
		return nr;
	for (i = 0; i < nr; i++)
		if (!each(arg, c->frames[i].pc))
			break;
	kw_context_put(c);
	return nr;
}

int kunwind_user_pcs(struct pt_regs *regs, unsigned long *pcs, unsigned int max,
		     enum ow_end *end)
{
	struct kw_context *c;
	int nr = check_args(&max), i;

	if (nr)
		return nr;
	c = walk_own(regs, max, end, &nr);
	if (!c)
		return nr;
	for (i = 0; i < nr; i++)
		pcs[i] = c->frames[i].pc;
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
