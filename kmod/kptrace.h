/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Whether ptrace(2) would let somebody read a task. */
#ifndef KW_PTRACE_H
#define KW_PTRACE_H

#include <linux/cred.h>
#include <linux/sched.h>

int kw_ptrace_init(void);
void kw_ptrace_exit(void);

/*
 * What ptrace_may_access() says to somebody of these credentials, for reading: 0,
 * -EPERM, -ESRCH: the task is gone; -ENOMEM.  May sleep, and may take the task's
 * exec_update_lock, which the caller doesn't hold.
 */
int kw_ptrace_may(const struct cred *cred, struct task_struct *task);

#endif /* KW_PTRACE_H */
