/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What of the ring the calls of a process, and of a user, may take.  Whoever makes
 * them faster than they are read would have all of it, and all others' calls would be
 * lost: so no process takes more than three quarters of what others leave over, and no
 * user but root more than seven eighths.
 */
#ifndef OW_BPF_CALLSHARES_H
#define OW_BPF_CALLSHARES_H

#include "bpfshares.h"

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, OW_BPF_CALLERS);
	__type(key, __u64); /* a process, or USER and a user */
	__type(value, struct ow_bpf_callshare);
} callshares SEC(".maps");

/* Threads in a call that was refused: its result is, too. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, __u32); /* tid */
	__type(value, __u32);
} refused SEC(".maps");

__u32 any_refused;

static __always_inline struct ow_bpf_callshare *callshare_of(__u64 owner)
{
	const struct ow_bpf_callshare none = { 0 };
	struct ow_bpf_callshare *s = bpf_map_lookup_elem(&callshares, &owner);

	if (s)
		return s;
	bpf_map_update_elem(&callshares, &owner, &none, BPF_NOEXIST);
	return bpf_map_lookup_elem(&callshares, &owner);
}

/*
 * Bytes of an owner that the ring has still, at most.  What it sent before the mark
 * has been read when the reader is there.
 */
static __always_inline __u64 call_bytes(struct ow_bpf_callshare *s)
{
	if (bpf_ringbuf_query(&events, BPF_RB_CONS_POS) >= s->mark) {
		s->before = s->since;
		s->since = 0;
		s->mark = bpf_ringbuf_query(&events, BPF_RB_PROD_POS);
	}
	return s->before + s->since;
}

/* Of eight parts of what others leave over, how many an owner has, or more: 8. */
static __always_inline __u64 parts_of(struct ow_bpf_callshare *s)
{
	__u64 used = bpf_ringbuf_query(&events, BPF_RB_AVAIL_DATA);
	__u64 ring = bpf_ringbuf_query(&events, BPF_RB_RING_SIZE);
	__u64 own = s ? call_bytes(s) : 0;

	if (own > used)
		own = used;
	used -= own;
	return used < ring ? 8 * own / (ring - used) : 8;
}

static __always_inline void charge(__u64 owner, __u64 size)
{
	struct ow_bpf_callshare *s = bpf_map_lookup_elem(&callshares, &owner);

	if (s)
		s->since += size;
}

/* A process of a user has sent so many bytes of calls. */
static __always_inline void charge_call(__u32 pid, __u32 uid, __u64 size)
{
	charge(pid, size);
	if (uid)
		charge(USER | uid, size);
}

/* What the process has called, or the result of it, is lost. */
static __always_inline void lose_call(__u32 pid)
{
	struct ow_bpf_callshare *s = callshare_of(pid);

	tally(OW_BPF_LOST, 1);
	if (s)
		__sync_fetch_and_add(&s->lost, 1);
}

/* In eight parts, what a process has, or 8: it, or its user, may send no call now. */
__noinline int call_parts(__u32 pid, __u32 uid)
{
	__u64 parts = parts_of(callshare_of(pid));

	if (parts >= 6 || (uid && parts_of(callshare_of(USER | uid)) >= 7))
		return 8;
	return (int)parts;
}

/* Note that a call of the thread is not sent. */
static __always_inline void refuse_call(__u32 pid, __u32 tid)
{
	__u32 one = 1;

	lose_call(pid);
	bpf_map_update_elem(&refused, &tid, &one, BPF_ANY);
	any_refused = 1;
}

/* Return true if the last call of the thread was refused; it is forgotten then. */
static __always_inline bool was_refused(__u32 tid)
{
	return any_refused && bpf_map_delete_elem(&refused, &tid) == 0;
}

#endif /* OW_BPF_CALLSHARES_H */
