// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#include "ksession.h"

#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/pid_namespace.h>
#include <linux/slab.h>

#include "kqueue.h"
#include "kuser.h"

DEFINE_SPINLOCK(kw_lock);

#define SESSION_PRICE                \
	(sizeof(struct kw_session) + \
	 OW_KUNWIND_FILE_EVENTS * sizeof(struct kw_event))

static bool may_all(void)
{
	return capable(CAP_PERFMON) || capable(CAP_SYS_ADMIN);
}

struct kw_session *kw_session_create(void)
{
	bool privileged = may_all();
	struct kw_user *user = kw_user_of_opener(privileged);
	struct kw_session *s;
	int err;

	if (!user)
		return ERR_PTR(-ENOMEM);
	err = kw_user_charge(user, SESSION_PRICE);
	if (err)
		goto put;
	s = kzalloc(sizeof(*s), GFP_KERNEL_ACCOUNT);
	if (!s) {
		err = -ENOMEM;
		goto uncharge;
	}
	kref_init(&s->ref);
	s->cred = get_current_cred();
	s->user = user;
	s->privileged = privileged;
	s->ns = get_pid_ns(task_active_pid_ns(current));
	kw_events_init(&s->events, user);
	mutex_init(&s->relinking);
	INIT_LIST_HEAD(&s->uses);
	INIT_LIST_HEAD(&s->tracks);
	INIT_LIST_HEAD(&s->heirs);
	return s;
uncharge:
	kw_user_uncharge(user, SESSION_PRICE);
put:
	kw_user_put(user);
	return ERR_PTR(err);
}

static void session_free(struct work_struct *work)
{
	struct kw_session *s = container_of(work, struct kw_session, free);

	kw_events_deinit(&s->events);
	kw_user_uncharge(s->user, SESSION_PRICE);
	kw_user_put(s->user);
	put_pid_ns(s->ns);
	put_cred(s->cred);
	/* A space's tracks, which have no references, are read under RCU. */
	kfree_rcu(s, rcu);
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
