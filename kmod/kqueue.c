// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#include "kqueue.h"

static struct workqueue_struct *queue;

int kw_queue_init(void)
{
	queue = alloc_workqueue("kunwind", WQ_UNBOUND, 0);
	return queue ? 0 : -ENOMEM;
}

void kw_queue_exit(void)
{
	destroy_workqueue(queue);
}

void kw_queue(struct work_struct *work)
{
	queue_work(queue, work);
}

void kw_queue_rcu(struct rcu_work *work)
{
	queue_rcu_work(queue, work);
}

void kw_queue_flush(void)
{
	flush_workqueue(queue);
}
