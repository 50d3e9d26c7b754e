/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Which processes are sampled, and when what they have mapped has changed last:
 * until the loader has told of that, their stacks aren't walked here.
 */
#ifndef OW_BPF_CHANGES_H
#define OW_BPF_CHANGES_H

#include "bpfoptions.h"
#include "bpfstate.h"

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__type(key, __u32); /* pid */
	__type(value, __u32);
} targets SEC(".maps");

/* When a process has mapped code last, or was replaced by another program. */
struct change {
	__u64 time;       /* CLOCK_MONOTONIC, ns */
	__u32 image;      /* whose mappings are all still there; or 0 */
	__u32 is_between; /* one program and the next: exec is under way */
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 32768);
	__type(key, __u32); /* pid */
	__type(value, struct change);
} changes SEC(".maps");

/*
 * Counts changes of what is known of anyone: what was looked up before the last
 * one is to be looked up again.
 */
__u64 lives;

static __always_inline bool is_target(__u32 pid)
{
	return pid && (everyone || bpf_map_lookup_elem(&targets, &pid));
}

static __always_inline void count_change(void)
{
	__sync_fetch_and_add(&lives, 1);
}

/*
 * Something has changed, but for the mappings of that image.  The loader may be
 * about to tell of another one, in which it has: so that is noted always.
 */
static __always_inline void note(__u32 pid, __u32 image, __u32 is_between)
{
	struct change c = { bpf_ktime_get_ns(), image, is_between };

	if (bpf_map_update_elem(&changes, &pid, &c, BPF_ANY))
		bpf_map_delete_elem(&processes, &pid);
	count_change();
}

/* What exec maps is of the next program, which doesn't run yet. */
static __always_inline void note_change(__u32 pid, __u32 image)
{
	struct change *c = bpf_map_lookup_elem(&changes, &pid);

	note(pid, image, c && c->is_between);
}

/* Is that change, if there was one, newer than what is known? */
static __always_inline bool is_newer(const struct change *c,
				     const struct ow_bpf_process *p)
{
	return c && c->time > p->as_of && c->image != p->image;
}

static __always_inline bool is_stale(const struct ow_bpf_process *p, __u32 pid)
{
	return is_newer(bpf_map_lookup_elem(&changes, &pid), p);
}

/* What heads the process' ranges, or NULL if they lie there no more. */
static __always_inline struct ow_bpf_range *
head_of(const struct ow_bpf_process *p)
{
	struct ow_bpf_range *head;
	__u32 at = p->first - 1;

	head = bpf_map_lookup_elem(&ranges, &at);
	return head && head->object == p->image ? head : NULL;
}

/* A process with these ranges was sampled: others are to make room before them. */
static __always_inline void note_use(struct known *k, __u32 now)
{
	struct ow_bpf_range *head;

	if (k->used == now || !k->process.image)
		return;
	k->used = now;
	head = head_of(&k->process);
	if (head)
		head->start = now;
}

/* What is known of a process: it is wanted if something is. */
static __always_inline void look_for(struct known *k, __u32 pid)
{
	struct ow_bpf_process *p;
	struct change *c;

	/* First the count: what changes while this looks is looked up again. */
	k->lives = lives;
	k->pid = pid;
	barrier();
	p = bpf_map_lookup_elem(&processes, &pid);
	k->is_wanted = p || is_target(pid);
	k->process.image = 0;
	c = bpf_map_lookup_elem(&changes, &pid);
	if (p && !is_newer(c, p) && head_of(p))
		k->process = *p;
	k->used = 0;
	k->process.is_between = c && c->is_between;
}

static __always_inline struct known *known_of(struct walk *w, __u32 pid)
{
	struct known *k = &w->known_of[pid % KNOWN];

	if (k->pid != pid || k->lives != lives)
		look_for(k, pid);
	return k;
}

#endif /* OW_BPF_CHANGES_H */
