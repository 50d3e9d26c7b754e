/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What a walk needs of memory, for each CPU and each context that can interrupt
 * another: task, softirq, interrupt, NMI.  Never on the kernel's stack.
 */
#ifndef KW_CONTEXT_H
#define KW_CONTEXT_H

#include "kmap.h"
#include "kunwind.h"
#include "walk.h"

#define KW_LEVELS       4
#define KW_WINDOW       1024 /* bytes of the stack that are read at once */
#define KW_WINDOW_BELOW 128  /* and how many of them below what is asked for */
#define KW_STACK        (8u << 20) /* bytes above sp that may be stack */
#define KW_CACHE        1024       /* rows */

struct kw_context {
	struct ow_target target; /* first: reads find the context by it */
	struct ow_walk walk;
	struct ow_cache cache;
	bool busy;
	bool faulting; /* reads may sleep */
	u8 window[KW_WINDOW];
	struct ow_brief rows[KW_CACHE];
	struct ow_frame frames[KUNWIND_MAX_FRAMES]; /* who has none of his own */
};

int kw_context_init(void);
void kw_context_exit(void);

/*
 * The one of this CPU and context, preemption being disabled until it is put; or
 * NULL: a walk is under way in the same one.
 */
struct kw_context *kw_context_get(void);
void kw_context_put(struct kw_context *c);

/* One of the caller's own, for reads that may sleep; NULL: out of memory. */
struct kw_context *kw_context_create(void);
void kw_context_destroy(struct kw_context *c);

/* Walk; the map does not go meanwhile.  Return the number of frames. */
unsigned int kw_context_walk(struct kw_context *c, const struct kw_map *map,
			     const struct ow_regs *regs,
			     struct ow_frame *frames, unsigned int max);

#endif /* KW_CONTEXT_H */
