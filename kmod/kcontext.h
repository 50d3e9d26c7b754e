/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What a walk needs of memory, for each CPU and each context that can interrupt
 * another: task, softirq, interrupt, NMI.  Never on the kernel's stack.
 */
#ifndef KW_CONTEXT_H
#define KW_CONTEXT_H

#include <linux/percpu.h>
#include <linux/preempt.h>

#include "kmap.h"
#include "kunwind.h"
#include "walk.h"

#define KW_LEVELS       4
#define KW_WINDOW       1024 /* bytes of the stack that are read at once, */
#define KW_WINDOW_BELOW 128  /* and how many of them below what is asked for */
#define KW_STACK        (8u << 20) /* bytes above sp that may be stack */
#define KW_MOVES        2          /* of the window for one frame */
#define KW_NO_PAGE      1
#define KW_CACHE        1024 /* rows, two for each place */
#define KW_CACHE_MASK   (KW_CACHE / 2 - 1)

struct kw_context {
	struct ow_walk walk; /* first: one register holds both */
	struct ow_target target;
	struct ow_cache cache;
	u32 high; /* half of the generations that rows are of */
	bool busy;
	bool faulting; /* reads may sleep */
	/* Of the frame that is the walk's read_for-th: */
	unsigned int read_for;
	unsigned int moves; /* of the window */
	/* Pages, or KW_NO_PAGE: one that is being read, and one that could not be. */
	u64 page, absent;
	u8 window[KW_WINDOW] __aligned(64);
	struct ow_brief rows[KW_CACHE];
	struct ow_frame frames[KUNWIND_MAX_FRAMES]; /* who has none of his own */
};

/*
 * Have the contexts of all CPUs, also of those that come later; once there are, they
 * stay.  Nobody is followed before.  May sleep; 0 or -ENOMEM.
 */
int kw_contexts_use(void);
bool kw_contexts_ready(void);

/* The bytes that they take. */
u64 kw_contexts_bytes(void);

void kw_contexts_exit(void);

DECLARE_PER_CPU(struct kw_context *[KW_LEVELS], kw_contexts);

/*
 * The one of this CPU and context, preemption being disabled until it is put,
 * so that what RCU frees stays, too; or NULL: a walk is under way in the same one, or
 * there are none yet.
 * Inline, so that little has to be kept on the stack beside it.
 */
static inline struct kw_context *kw_context_get(void)
{
	struct kw_context *c;

	preempt_disable_notrace();
	c = __this_cpu_read(kw_contexts[interrupt_context_level()]);
	if (likely(c && !c->busy)) {
		c->busy = true;
		barrier();
		return c;
	}
	preempt_enable_notrace();
	return NULL;
}

static inline void kw_context_put(struct kw_context *c)
{
	barrier();
	c->busy = false;
	preempt_enable_notrace();
}

/* One of the caller's own, for reads that may sleep; NULL: out of memory. */
struct kw_context *kw_context_create(void);
void kw_context_destroy(struct kw_context *c);

#endif /* KW_CONTEXT_H */
