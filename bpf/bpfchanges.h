/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Which processes are sampled, and when what they have mapped has changed last:
 * until the loader has told of that, their stacks aren't walked here.
 */
#ifndef OW_BPF_CHANGES_H
#define OW_BPF_CHANGES_H

#include "bpfmaps.h"
#include "bpfoptions.h"

#define MOST_TRIES 8

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__type(key, __u32); /* pid */
	__type(value, __u32);
} targets SEC(".maps");

/* When a process has mapped code last, or was replaced by another program. */
struct change {
	__u64 time;  /* CLOCK_MONOTONIC, ns */
	__u32 image; /* whose mappings are all still there; or 0 */
	__u32 reserved;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 32768);
	__type(key, __u32); /* pid */
	__type(value, struct change);
} changes SEC(".maps");

__u64 last_change; /* of anyone's mappings: CLOCK_MONOTONIC, ns */

static __always_inline bool is_target(__u32 pid)
{
	return pid && (everyone || bpf_map_lookup_elem(&targets, &pid));
}

static __always_inline void set_last_change(__u64 now)
{
	__u64 old = last_change, was;
	int i;

	for (i = 0; i < MOST_TRIES && old < now; i++) {
		was = __sync_val_compare_and_swap(&last_change, old, now);
		if (was == old)
			return;
		old = was;
	}
	if (old < now)
		last_change = ~0ULL; /* everyone is looked up from now on */
}

/*
 * Something has changed, but for the mappings of that image.  The loader may be
 * about to tell of another one, in which it has: so that is noted always.
 */
static __always_inline void note_change(__u32 pid, __u32 image)
{
	struct change c = { bpf_ktime_get_ns(), image, 0 };

	if (bpf_map_update_elem(&changes, &pid, &c, BPF_ANY))
		bpf_map_delete_elem(&processes, &pid);
	set_last_change(c.time);
}

static __always_inline bool is_stale(const struct ow_bpf_process *p, __u32 pid)
{
	struct change *c;

	if (last_change <= p->as_of)
		return false;
	c = bpf_map_lookup_elem(&changes, &pid);
	return c && c->time > p->as_of && c->image != p->image;
}

#endif /* OW_BPF_CHANGES_H */
