/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Work that is done in process context, whoever asks for it. */
#ifndef KW_QUEUE_H
#define KW_QUEUE_H

#include <linux/workqueue.h>

int kw_queue_init(void);
/* What is queued is done; nobody queues any more. */
void kw_queue_exit(void);

void kw_queue(struct work_struct *work);
/* The same after a grace period. */
void kw_queue_rcu(struct rcu_work *work);

/*
 * One after another, of what takes a CPU for long, so that there is one that it takes;
 * false: it is queued already.
 */
bool kw_queue_long(struct work_struct *work);

/* Wait until what is queued is done. */
void kw_queue_flush(void);

#endif /* KW_QUEUE_H */
