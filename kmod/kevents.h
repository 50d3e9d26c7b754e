/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What a session has to be told: a ring of events, read by its device's file. */
#ifndef KW_EVENTS_H
#define KW_EVENTS_H

#include <linux/pid.h>
#include <linux/spinlock.h>
#include <linux/wait.h>

#include "ow_kunwind.h"

/* An event with whom it is about; pid is translated when it is read. */
struct kw_event {
	struct ow_kunwind_event what;
	struct pid *pid; /* a reference */
};

struct kw_events {
	spinlock_t lock;
	wait_queue_head_t wait;
	struct kw_event *ring; /* NULL until something may happen */
	unsigned int head, nr; /* the oldest one, and how many */
	bool lost;             /* since the last one in the ring */
	bool missed;           /* a process that could not be followed */
};

void kw_events_init(struct kw_events *e);
void kw_events_deinit(struct kw_events *e);

/* Make room, if there is none yet; may sleep.  -ENOMEM. */
int kw_events_begin(struct kw_events *e);

/* Add an event, or note that there was no room; atomic context. */
void kw_events_put(struct kw_events *e, const struct ow_kunwind_event *what,
		   struct pid *pid);

/* Note that something could not be followed; atomic context. */
void kw_events_miss(struct kw_events *e);

bool kw_events_any(struct kw_events *e);

/* Take the oldest one, pid as ns has it; false: there is none. */
bool kw_events_take(struct kw_events *e, struct pid_namespace *ns,
		    struct ow_kunwind_event *ret);

#endif /* KW_EVENTS_H */
