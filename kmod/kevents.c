// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#include "kevents.h"

#include <linux/mm.h>
#include <linux/pid_namespace.h>

#include "kstats.h"

#define RING OW_KUNWIND_FILE_EVENTS

void kw_events_init(struct kw_events *e)
{
	spin_lock_init(&e->lock);
	init_waitqueue_head(&e->wait);
}

void kw_events_deinit(struct kw_events *e)
{
	for (; e->nr; e->nr--)
		put_pid(e->ring[e->head++ % RING].pid);
	kvfree(e->ring);
}

int kw_events_begin(struct kw_events *e)
{
	struct kw_event *ring, *old;

	if (READ_ONCE(e->ring))
		return 0;
	ring = kvcalloc(RING, sizeof(*ring), GFP_KERNEL_ACCOUNT);
	if (!ring)
		return -ENOMEM;
	spin_lock(&e->lock);
	old = e->ring;
	if (!old)
		WRITE_ONCE(e->ring, ring);
	spin_unlock(&e->lock);
	if (old)
		kvfree(ring);
	return 0;
}

void kw_events_put(struct kw_events *e, const struct ow_kunwind_event *what,
		   struct pid *pid)
{
	struct kw_event *at;

	spin_lock(&e->lock);
	if (!e->ring || e->lost || e->nr == RING) {
		e->lost = true;
		kw_count(events_lost);
	} else {
		at = &e->ring[(e->head + e->nr++) % RING];
		at->what = *what;
		at->pid = get_pid(pid);
	}
	spin_unlock(&e->lock);
	wake_up_interruptible(&e->wait);
}

void kw_events_miss(struct kw_events *e)
{
	spin_lock(&e->lock);
	e->missed = true;
	kw_count(events_lost);
	spin_unlock(&e->lock);
	wake_up_interruptible(&e->wait);
}

bool kw_events_any(struct kw_events *e)
{
	return READ_ONCE(e->nr) || READ_ONCE(e->lost) || READ_ONCE(e->missed);
}

bool kw_events_take(struct kw_events *e, struct pid_namespace *ns,
		    struct ow_kunwind_event *ret)
{
	struct pid *pid = NULL;
	bool any;

	spin_lock(&e->lock);
	any = kw_events_any(e);
	if (e->nr) {
		*ret = e->ring[e->head].what;
		pid = e->ring[e->head].pid;
		e->head = (e->head + 1) % RING;
		e->nr--;
	} else if (any) {
		*ret = (struct ow_kunwind_event){
			.kind = OW_KUNWIND_EV_LOST,
		};
		e->lost = false;
		e->missed = false;
	}
	spin_unlock(&e->lock);
	if (pid)
		ret->pid = pid_nr_ns(pid, ns);
	put_pid(pid);
	return any;
}
