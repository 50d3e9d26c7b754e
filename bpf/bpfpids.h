/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Processes and threads by the numbers that they have where the loader runs,
 * which may be a PID namespace of a container's.
 */
#ifndef OW_BPF_PIDS_H
#define OW_BPF_PIDS_H

#include "bpfkernel.h"
#include "bpfoptions.h"

#define MOST_LEVELS 33 /* of namespaces, the first one included */

/* The number that is has there; 0: none, as it is not within. */
static __always_inline __u32 number_of_pid(struct pid *is)
{
	__u32 i, level = BPF_CORE_READ(is, level);
	struct upid *at = &is->numbers[0];

	/* Those of the first namespace come first. */
	for (i = 1; i < MOST_LEVELS && i <= level; i++) {
		at++;
		if (BPF_CORE_READ(at, ns, ns.inum) == pid_namespace)
			return BPF_CORE_READ(at, nr);
	}
	return 0;
}

static __always_inline __u32 tid_of(struct task_struct *task)
{
	if (!pid_namespace)
		return BPF_CORE_READ(task, pid);
	return number_of_pid(BPF_CORE_READ(task, thread_pid));
}

static __always_inline __u32 pid_of(struct task_struct *task)
{
	if (!pid_namespace)
		return BPF_CORE_READ(task, tgid);
	return number_of_pid(BPF_CORE_READ(task, signal, pids[PIDTYPE_TGID]));
}

/* As bpf_get_current_pid_tgid() has them: the process in the upper half. */
static __always_inline __u64 current_ids(void)
{
	struct task_struct *task;

	if (!pid_namespace)
		return bpf_get_current_pid_tgid();
	task = (void *)bpf_get_current_task_btf();
	return (__u64)pid_of(task) << 32 | tid_of(task);
}

static __always_inline __u32 current_pid(void)
{
	if (!pid_namespace)
		return bpf_get_current_pid_tgid() >> 32;
	return pid_of((void *)bpf_get_current_task_btf());
}

#endif /* OW_BPF_PIDS_H */
