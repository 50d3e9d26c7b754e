/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What has to wait until a task is about to be in user mode again. */
#ifndef KW_LATER_H
#define KW_LATER_H

#include <linux/sched.h>

/*
 * Have task call func(arg) before it is in user mode again, or as it exits;
 * atomic context, no NMI.  -ENOMEM or -ESRCH: it will not.
 */
int kw_later(struct task_struct *task, void (*func)(void *arg), void *arg);

/* Wait until nothing is left to do, and nobody is in there. */
void kw_later_exit(void);

#endif /* KW_LATER_H */
