/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Where threads wait, and how long. */
#ifndef OW_BPF_SWITCH_H
#define OW_BPF_SWITCH_H

#include "bpfsample.h"

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__type(key, __u32); /* tid */
	__type(value, struct ow_bpf_wait);
} waits SEC(".maps");

/* A thread that waited runs again. */
static __always_inline void end_wait(__u32 tid)
{
	__u64 waited, now = bpf_ktime_get_ns();
	struct ow_sample_value *v, first;
	struct ow_bpf_wait *wait;
	struct ow_sample_key key;

	wait = bpf_map_lookup_elem(&waits, &tid);
	if (!wait)
		return;
	waited = now - wait->since;
	key = wait->key;
	bpf_map_delete_elem(&waits, &tid);
	if (waited < shortest_wait)
		return;
	v = bpf_map_lookup_elem(&counts, &key);
	if (v) {
		__sync_fetch_and_add(&v->count, 1);
		__sync_fetch_and_add(&v->value, waited);
		return;
	}
	first.count = 1;
	first.value = waited;
	bpf_map_update_elem(&counts, &key, &first, BPF_NOEXIST);
}

SEC("raw_tp/sched_switch")

int on_switch(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *next = (void *)ctx->args[2];
	struct ow_bpf_wait wait;
	struct stack *s;
	struct walk *w;
	__u32 tid;

	end_wait(BPF_CORE_READ(next, pid));
	s = take(ctx, NULL, SLOT_TRACE, OW_SAMPLE_OFF_CPU, &w);
	if (!s)
		return 0;
	tid = s->out.tid;
	wait.since = bpf_ktime_get_ns();
	wait.key = s->out.key;
	bpf_map_update_elem(&waits, &tid, &wait, BPF_ANY);
	count(w, s, 0, 0);
	return 0;
}

#endif /* OW_BPF_SWITCH_H */
