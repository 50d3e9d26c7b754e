// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#include "ksession.h"

#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/pid_namespace.h>
#include <linux/slab.h>

#include "kqueue.h"
#include "kuser.h"

DEFINE_MUTEX(kw_mutex);

#define SESSION_PRICE                \
	(sizeof(struct kw_session) + \
	 OW_KUNWIND_FILE_EVENTS * sizeof(struct kw_event))

struct kw_session *kw_session_create(void)
{
	struct kw_session *s = kzalloc(sizeof(*s), GFP_KERNEL_ACCOUNT);
	int err = -ENOMEM;

	if (!s)
		return ERR_PTR(err);
	s->uid = current_euid();
	s->user = kw_user_get(s->uid);
	if (!s->user)
		goto free;
	err = kw_user_charge(s->user, SESSION_PRICE);
	if (err)
		goto put;
	kref_init(&s->ref);
	s->privileged = capable(CAP_PERFMON) || capable(CAP_SYS_ADMIN);
	s->ns = get_pid_ns(task_active_pid_ns(current));
	kw_events_init(&s->events);
	INIT_LIST_HEAD(&s->uses);
	INIT_LIST_HEAD(&s->tracks);
	return s;
put:
	kw_user_put(s->user);
free:
	kfree(s);
	return ERR_PTR(err);
}

static void session_free(struct work_struct *work)
{
	struct kw_session *s = container_of(work, struct kw_session, free);

	kw_events_deinit(&s->events);
	kw_user_uncharge(s->user, SESSION_PRICE);
	kw_user_put(s->user);
	put_pid_ns(s->ns);
	kfree(s);
}

/* The last reference may be put where nothing may sleep. */
static void session_release(struct kref *ref)
{
	struct kw_session *s = container_of(ref, struct kw_session, ref);

	INIT_WORK(&s->free, session_free);
	kw_queue(&s->free);
}

void kw_session_put(struct kw_session *s)
{
	kref_put(&s->ref, session_release);
}
