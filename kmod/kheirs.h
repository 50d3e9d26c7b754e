/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Processes that sessions follow whatever they fork and execute, and what the
 * kernel tells of that: tracepoints of the scheduler, and a probe of mmap.
 */
#ifndef KW_HEIRS_H
#define KW_HEIRS_H

#include "ksession.h"

int kw_heirs_init(void);
/* No session is left. */
void kw_heirs_exit(void);

/* Somebody is about to be followed: have all told from now on.  May sleep. */
void kw_heirs_begin(void);

/* Where mappings aren't told of: refresh current's own space now. */
void kw_heirs_catch_up(void);

/* enum ow_kunwind_features that work here. */
u32 kw_heirs_features(void);

/*
 * Follow a process and its children, or all processes where pid is NULL, and the
 * process' task is; once is enough.  -ENOSPC: there are too many, or too many of the
 * task's user; -ENOMEM, or -EOPNOTSUPP: this kernel doesn't tell.
 */
int kw_heirs_add(struct kw_session *session, struct pid *pid,
		 struct task_struct *task);

void kw_heirs_remove(struct kw_session *session, struct pid *pid);
void kw_heirs_drop_all(struct kw_session *session);

#endif /* KW_HEIRS_H */
