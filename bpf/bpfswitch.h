/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Where threads wait, and how long. */
#ifndef OW_BPF_SWITCH_H
#define OW_BPF_SWITCH_H

#include "bpfsample.h"

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1); /* as many as there may be threads */
	__type(key, __u32);     /* tid */
	__type(value, struct ow_bpf_wait);
} waits SEC(".maps");

/* A task by its address, as a function of its own has no pointers but its context. */
__noinline int user_at(__u64 task)
{
	return (int)user_of((struct task_struct *)task);
}

/*
 * What a thread waited for is over after so long.  The loader may have taken its count
 * meanwhile, so that the key is a new one.
 */
static __always_inline void add_wait(struct ow_sample_key *key,
				     struct task_struct *task, __u64 waited)
{
	struct ow_sample_value *v;

	if (waited < shortest_wait)
		return;
	v = bpf_map_lookup_elem(&counts, key);
	if (!v && !take_share(key->pid, (__u32)user_at((__u64)task), 0)) {
		ow_sample_fold(key);
		v = bpf_map_lookup_elem(&counts, key);
		if (!v)
			goto lost;
	}
	if (add_to(v, key, 1, waited))
		return;
lost:
	tally(OW_BPF_LOST, 1);
}

/* A thread that may have waited runs again. */
static __always_inline void end_wait(struct task_struct *task)
{
	const struct ow_bpf_wait over = { 0 };
	struct ow_sample_key key;
	__u32 tid = tid_of(task);
	struct ow_bpf_wait *wait;
	__u64 since, now;

	wait = bpf_map_lookup_elem(&waits, &tid);
	if (!wait) {
		/* Or it might yet be taken for one that waits already. */
		if (listing)
			bpf_map_update_elem(&waits, &tid, &over, BPF_ANY);
		return;
	}
	since = wait->since;
	key = wait->key;
	now = bpf_ktime_get_ns();
	if (ends_at && now > ends_at)
		now = ends_at;
	if (listing)
		wait->since = 0;
	else
		bpf_map_delete_elem(&waits, &tid);
	if (since && since <= now)
		add_wait(&key, task, now - since);
}

SEC("raw_tp/sched_switch")

int on_switch(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *task = (void *)bpf_get_current_task_btf();
	struct task_struct *next = (void *)ctx->args[2];
	struct ow_bpf_wait wait;
	struct walk *w;
	__u32 tid;

	end_wait(next);
	if (task->exit_state || (ends_at && bpf_ktime_get_ns() > ends_at))
		return 0;
	w = take(ctx, NULL, SLOT_TRACE, OW_SAMPLE_OFF_CPU);
	if (!w)
		return 0;
	tid = w->stack.out.tid;
	wait.since = bpf_ktime_get_ns();
	/* A time whose stack is lost would be no one's. */
	if (!add(w, 0, 0))
		goto lost;
	wait.key = w->stack.out.key;
	if (!bpf_map_update_elem(&waits, &tid, &wait, BPF_ANY))
		return 0;
lost:
	tally(OW_BPF_LOST, 1);
	return 0;
}

#endif /* OW_BPF_SWITCH_H */
