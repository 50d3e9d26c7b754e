// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#include "kqueue.h"

static struct workqueue_struct *queue, *long_queue;

int kw_queue_init(void)
{
	queue = alloc_workqueue("kunwind", WQ_UNBOUND, 0);
	if (!queue)
		return -ENOMEM;
	long_queue = alloc_ordered_workqueue("kunwind_long", 0);
	if (long_queue)
		return 0;
	destroy_workqueue(queue);
	return -ENOMEM;
}

void kw_queue_exit(void)
{
	destroy_workqueue(long_queue);
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

bool kw_queue_long(struct work_struct *work)
{
	return queue_work(long_queue, work);
}

void kw_queue_flush(void)
{
	flush_workqueue(long_queue);
	flush_workqueue(queue);
}
