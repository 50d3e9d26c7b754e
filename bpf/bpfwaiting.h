/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Who waits already when recording begins.  Programs can't read the stacks of
 * others than the current thread, so registers leave, and the loader does.
 */
#ifndef OW_BPF_WAITING_H
#define OW_BPF_WAITING_H

#include "bpfswitch.h"
#include "bpfuser.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct ow_bpf_waiting);
} waiting SEC(".maps");

static __always_inline bool is_running(const struct task_struct *task)
{
	if (bpf_core_field_exists(task->on_cpu))
		return task->on_cpu;
	return (__u32)task->pid == (__u32)bpf_get_current_pid_tgid();
}

static __always_inline void put_waiting(struct ow_bpf_waiting *out,
					struct task_struct *task)
{
	struct ow_sample_key *k = &out->head.key;
	struct user_regs r;
	long size = 0;

	__builtin_memset(&out->head, 0, sizeof(out->head));
	bpf_probe_read_kernel_str(out->head.comm, sizeof(out->head.comm),
				  task->comm);
	out->time = bpf_ktime_get_ns();
	out->head.tid = tid_of(task);
	out->head.uid = user_of(task);
	k->hash = out->time << 8 ^ bpf_get_smp_processor_id();
	k->pid = pid_of(task);
	k->tid = by_thread ? out->head.tid : 0;
	k->kind = OW_SAMPLE_OFF_CPU;
	k->end = OW_END_OUTERMOST;
	if (with_kernel)
		size = bpf_get_task_stack(task, out->kernel,
					  sizeof(out->kernel), 0);
	if (size > 0)
		out->head.nr_kernel = size / 8;
	if (!has_program(task))
		return;
	k->end = OW_END_WANT;
	out->word = 8;
	if (bpf_probe_read_kernel(&r, sizeof(r),
				  (void *)bpf_task_pt_regs(task)))
		return;
	if (r.cs == USER_CS) {
		order_regs(out->regs, &r);
	} else if (r.cs == USER32_CS) {
		out->word = 4;
		order_narrow(out->regs, &r);
	} else {
		out->word = 0;
		k->end = OW_END_UNSUPPORTED;
	}
}

SEC("iter/task")

int on_task(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct ow_bpf_waiting *out;
	struct ow_bpf_wait wait;
	__u32 zero = 0, tid;

	if (!task || !is_target(pid_of(task)) || task->exit_state ||
	    is_running(task))
		return 0;
	out = bpf_map_lookup_elem(&waiting, &zero);
	if (!out)
		return 0;
	put_waiting(out, task);
	/* Where there is no room just now, this one is gone through again. */
	if (bpf_seq_write(ctx->meta->seq, out, sizeof(*out)))
		return 0;
	tid = out->head.tid;
	wait.since = began;
	wait.key = out->head.key;
	bpf_map_update_elem(&waits, &tid, &wait, BPF_NOEXIST);
	return 0;
}

#endif /* OW_BPF_WAITING_H */
