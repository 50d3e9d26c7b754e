/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What of the ring, and of the room for counts, a process may take.  Any process can
 * have stacks without end that are all different: so no process, and no user but root,
 * may take more than half of what others leave over.
 */
#ifndef OW_BPF_SHARES_H
#define OW_BPF_SHARES_H

#include "bpftell.h"

#define MOST_COUNTS 65536
#define USER        (1ULL << 32) /* or else a process */

/* The loader deletes all of them when it has taken the counts. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 32768);
	__type(key, __u64);
	__type(value, struct ow_bpf_share);
} shares SEC(".maps");

/* Keys in counts; the loader subtracts those that it takes out, maybe too soon. */
__s64 counted;

/* One that has taken nothing if there is no room for another share. */
static __always_inline struct ow_bpf_share *share_of(__u64 owner)
{
	const struct ow_bpf_share none = { 0 };
	struct ow_bpf_share *s = bpf_map_lookup_elem(&shares, &owner);

	if (s)
		return s;
	bpf_map_update_elem(&shares, &owner, &none, BPF_NOEXIST);
	return bpf_map_lookup_elem(&shares, &owner);
}

/* Bytes of an owner that the ring has still. */
static __always_inline __u64 bytes_of(const struct ow_bpf_share *s)
{
	return s->end > bpf_ringbuf_query(&events, BPF_RB_CONS_POS) ? s->bytes :
								      0;
}

static __always_inline bool has_room(const struct ow_bpf_share *s, __u64 size)
{
	__u64 used = bpf_ringbuf_query(&events, BPF_RB_AVAIL_DATA);
	__u64 ring = bpf_ringbuf_query(&events, BPF_RB_RING_SIZE);
	__u64 nr = s ? s->nr : 0, own = s ? bytes_of(s) : 0;
	__s64 keys = counted;
	__u64 all = keys < 0 ? 0 : keys;

	if (own > used)
		own = used;
	if (all > MOST_COUNTS)
		all = MOST_COUNTS;
	if (nr > all)
		nr = all;
	return 2 * (own + size) <= ring - (used - own) &&
	       2 * (nr + 1) <= MOST_COUNTS - (all - nr);
}

static __always_inline void take_room(struct ow_bpf_share *s, __u64 size)
{
	if (!s)
		return;
	s->nr++;
	if (!size)
		return;
	s->bytes = bytes_of(s) + size;
	s->end = bpf_ringbuf_query(&events, BPF_RB_PROD_POS) + size;
}

/*
 * Nonzero if a process of a user may have one count more, and let so many bytes leave
 * for that: then they are its.
 */
__noinline int take_share(__u32 pid, __u32 uid, __u32 size)
{
	struct ow_bpf_share *process = share_of(pid), *user = NULL;

	if (!has_room(process, size))
		return 0;
	if (uid) {
		user = share_of(USER | uid);
		if (!has_room(user, size))
			return 0;
	}
	take_room(process, size);
	take_room(user, size);
	return 1;
}

#endif /* OW_BPF_SHARES_H */
