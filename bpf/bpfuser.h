/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The user who answers for a process, as ow_process_user() has it outside. */
#ifndef OW_BPF_USER_H
#define OW_BPF_USER_H

#include "bpfkernel.h"
#include "bpfsubuids.h"

#define MOST_USER_LEVELS 33 /* Linux, kernel/user_namespace.c */

/*
 * The owner of the outermost user namespace that a process is in, below the first one:
 * a user may have 65,536 numbers in it (newuidmap(1)).  Otherwise the real uid.  Of a
 * subordinate id it is the user who has it.
 */
static __always_inline __u32 user_of(struct task_struct *task)
{
	/* The other ones may be another user's while the kernel reads a file for it. */
	const struct cred *cred = BPF_CORE_READ(task, real_cred);
	struct user_namespace *ns = BPF_CORE_READ(cred, user_ns);
	__u32 uid = BPF_CORE_READ(cred, uid.val), owner, i;
	int level = BPF_CORE_READ(ns, level);

	for (i = 1; i < MOST_USER_LEVELS && level > 1; i++) {
		ns = BPF_CORE_READ(ns, parent);
		level--;
	}
	owner = level == 1 ? BPF_CORE_READ(ns, owner.val) : 0;
	/* Root's namespaces, as a container engine makes them, hold many users. */
	return owner_of_id(uid && owner ? owner : uid);
}

__noinline int current_user(void)
{
	return (int)user_of((struct task_struct *)bpf_get_current_task());
}

#endif /* OW_BPF_USER_H */
