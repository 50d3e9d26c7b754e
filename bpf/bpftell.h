/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What leaves the kernel: events by a ring, and how often what came about. */
#ifndef OW_BPF_TELL_H
#define OW_BPF_TELL_H

#include "bpfmaps.h"

#define ASK_AGAIN 100000000ULL /* ns */
#define MOST_LEFT (1 << 20)    /* bytes: the loader is woken */

/* When the loader was asked last for an object's table. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, __u32);
	__type(value, __u64);
} asked SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 24);
} events SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct ow_bpf_tallies);
} tallies SEC(".maps");

static __always_inline __u64 *tallies_here(void)
{
	struct ow_bpf_tallies *t;
	__u32 zero = 0;

	t = bpf_map_lookup_elem(&tallies, &zero);
	return t ? t->nr : NULL;
}

static __always_inline void tally(__u32 which, __u64 n)
{
	__u64 *nr = tallies_here();

	if (nr)
		nr[which] += n;
}

static __always_inline void notify(__u32 type, __u32 pid, __u64 arg)
{
	struct ow_bpf_notice n = { type, pid, arg };

	bpf_ringbuf_output(&events, &n, sizeof(n), BPF_RB_FORCE_WAKEUP);
}

/*
 * How a stack leaves.  None is waited for: the loader looks by itself, and is woken
 * when there is much.
 */
static __always_inline __u64 stack_wakeup(void)
{
	return bpf_ringbuf_query(&events, BPF_RB_AVAIL_DATA) < MOST_LEFT ?
		       BPF_RB_NO_WAKEUP :
		       BPF_RB_FORCE_WAKEUP;
}

/* Ask for an object's table again, but not all the time. */
static __always_inline void ask(__u32 pid, __u32 object)
{
	__u64 now = bpf_ktime_get_ns(), *last;

	last = bpf_map_lookup_elem(&asked, &object);
	if (last && now - *last < ASK_AGAIN)
		return;
	bpf_map_update_elem(&asked, &object, &now, BPF_ANY);
	notify(OW_BPF_EVENT_EVICTED, pid, object);
}

#endif /* OW_BPF_TELL_H */
