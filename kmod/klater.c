// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#include "klater.h"

#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/task_work.h>
#include <linux/wait.h>

struct later {
	struct callback_head head;
	void (*func)(void *arg);
	void *arg;
};

static atomic_t pending = ATOMIC_INIT(0);
static DECLARE_WAIT_QUEUE_HEAD(none_pending);

static void done(void)
{
	if (atomic_dec_and_test(&pending))
		wake_up_all(&none_pending);
}

static void run(struct callback_head *head)
{
	struct later *l = container_of(head, struct later, head);

	l->func(l->arg);
	kfree(l);
	done();
}

int kw_later(struct task_struct *task, void (*func)(void *arg), void *arg)
{
	struct later *l =
		kmalloc(sizeof(*l), GFP_ATOMIC | __GFP_ACCOUNT | __GFP_NOWARN);
	int err;

	if (!l)
		return -ENOMEM;
	l->func = func;
	l->arg = arg;
	init_task_work(&l->head, run);
	atomic_inc(&pending);
	err = task_work_add(task, &l->head, TWA_RESUME);
	if (err) {
		kfree(l);
		done();
	}
	return err;
}

void kw_later_exit(void)
{
	wait_event(none_pending, atomic_read(&pending) == 0);
	/* The last one may still be between done() and its return. */
	synchronize_rcu_tasks();
}
