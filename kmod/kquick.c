// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#include "kquick.h"

#include <linux/mm.h>
#include <linux/uaccess.h>

#include "err.h"
#include "kown.h"
#include "runbrief.h"

/* No word of the user's begins at or above it. */
#define USER_END (TASK_SIZE_MAX - sizeof(u64))

/* One of a range that access_ok() was asked for. */
static __always_inline bool word_of_user(const u8 *at, u64 *ret)
{
	unsafe_get_user(*ret, (const u64 __user __force *)at, fault);
	return true;
fault:
	__cold;
	return false;
}

/* Nothing may be called between begin and end. */
static __always_inline void run_on_user(const struct kw_context *c,
					struct ow_run *run)
{
	if (!c->faulting)
		pagefault_disable();
	if (user_read_access_begin((void __user __force *)run->stack->bytes,
				   run->stack->size)) {
		ow_run_brief(run, word_of_user);
		user_read_access_end();
	}
	if (!c->faulting)
		pagefault_enable();
}

enum ow_end kw_quick_run(struct kw_context *c)
{
	struct ow_walk *w = &c->walk;
	u64 sp = w->regs.val[c->target.arch->sp];
	u64 start = sp > KW_WINDOW_BELOW ? sp - KW_WINDOW_BELOW : 0;
	const struct ow_window stack = {
		.start = start,
		.size = USER_END - start,
		.bytes = (const u8 *)(unsigned long)start,
	};
	/* What is in the context is found from there, not kept on the stack. */
	const struct ow_cache cache = {
		.entries = c->rows,
		.mask = KW_CACHE_MASK,
	};
	struct ow_run run = {
		.step = &c->walk.step,
		.stack = &stack,
		.cache = &cache,
		.regs = &c->walk.regs,
		.frame = &w->frames[w->nr - 1],
		.limit = &w->frames[w->max - 1],
	};

	if (w->guessed || start >= USER_END || !kw_memory_is_own())
		return OW_END_NOT_YET;
	run_on_user(c, &run);
	w->nr = (unsigned int)(run.frame - w->frames) + 1;
	if (run.torn) {
		w->err = -OW_EFAULT;
		return w->end = OW_END_FAULT;
	}
	if (run.frame == run.limit)
		return w->end = OW_END_LIMIT;
	if (run.row && run.row->flags == OW_ROW_OUTERMOST)
		return w->end = OW_END_OUTERMOST;
	return OW_END_NOT_YET;
}
