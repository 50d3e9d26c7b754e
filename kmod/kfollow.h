/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Which session follows which address space. */
#ifndef KW_FOLLOW_H
#define KW_FOLLOW_H

#include "kspace.h"
#include "ktrack.h"

int kw_follow_init(void);
/* No session is left. */
void kw_follow_exit(void);

/*
 * A task's mm, its creds being those that the mm is executed with, if the
 * session may follow it; the caller's to mmdrop().  An error pointer: -EPERM,
 * -ESRCH, -EINTR, -ENOMEM, -EBUSY: it executes one program after another.
 */
struct mm_struct *kw_follow_may(const struct kw_session *session,
				struct task_struct *task,
				struct kw_patience *patience);

/*
 * Follow an mm that was got so, of a task of that process.  -EUSERS: so many sessions
 * of the kind do already; -EBUSY: its mmap_lock is held for too long; -ESRCH: the
 * process is gone, or has executed something else; -ENOSPC, -ENOMEM, -EINTR.
 */
int kw_follow_mm(struct kw_session *session, struct mm_struct *mm,
		 struct pid *pid, struct task_struct *task,
		 struct kw_patience *patience);

/* Follow current, if the session may; it is about to be in user mode. */
void kw_follow_current(struct kw_session *session);

/* -ENOENT: the session doesn't follow a process of that pid. */
int kw_unfollow_pid(struct kw_session *session, const struct pid *pid);

/*
 * The session follows nothing from now on.  had_tables: there were some that maps are
 * to give back.
 */
void kw_follow_close(struct kw_session *session, bool had_tables);

/*
 * Where the session's tables count, the object's is another now.  -EINTR: a fatal
 * signal came before it was this caller's turn.
 */
int kw_follow_relink(struct kw_session *session,
		     const struct kw_object *object);

/* Processes that a session may follow. */
unsigned int kw_follow_max(const struct kw_session *session);

#endif /* KW_FOLLOW_H */
