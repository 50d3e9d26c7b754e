/* SPDX-License-Identifier: GPL-2.0-only */
/* Room for stacks: for each CPU, one in each context that interrupts another. */
#ifndef LK_STACK_H
#define LK_STACK_H

#include <linux/types.h>

struct lk_stack {
	const unsigned long *pcs; /* innermost first */
	unsigned int nr;
	u8 reason; /* enum ow_end */
};

int lk_stack_init(void);
void lk_stack_exit(void);

/*
 * The user stack of current; preemption is disabled until lk_stack_drop().  nr is
 * 0 if there is none.
 */
void lk_stack_take(struct lk_stack *ret);
void lk_stack_drop(void);

#endif /* LK_STACK_H */
