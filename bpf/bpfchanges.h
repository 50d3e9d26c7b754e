/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Which processes are sampled, and when what they have mapped has changed last:
 * until the loader has told of that, their stacks aren't walked here.
 */
#ifndef OW_BPF_CHANGES_H
#define OW_BPF_CHANGES_H

#include "bpfkernel.h"
#include "bpfoptions.h"
#include "bpfstate.h"

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1); /* as many as there may be threads */
	__type(key, __u32);     /* pid */
	__type(value, __u32);
} targets SEC(".maps");

__u64 unfollowed; /* children of targets for which there was no room */

/* When a process has mapped code last, or was replaced by another program. */
struct change {
	__u64 time;       /* CLOCK_MONOTONIC, ns */
	__u64 untold;     /* the last one that no perf event tells of; or 0 */
	__u32 image;      /* whose mappings are all still there; or 0 */
	__u32 is_between; /* one program and the next: exec is under way */
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1); /* likewise */
	__type(key, __u32);     /* pid */
	__type(value, struct change);
} changes SEC(".maps");

/* When code was mapped last in memory that is not one process' alone. */
struct sharing {
	__u64 time;   /* CLOCK_MONOTONIC, ns */
	__u64 before; /* the last one by another process than pid; or 0 */
	__u32 pid;    /* who mapped it */
	__u32 reserved;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, __u64); /* of whose memory: its address in the kernel */
	__type(value, struct sharing);
} sharings SEC(".maps");

__u32 is_shared; /* there are such changes */

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

static __always_inline void put_change(__u32 pid, const struct change *c)
{
	if (bpf_map_update_elem(&changes, &pid, c, BPF_ANY))
		bpf_map_delete_elem(&processes, &pid);
	count_change();
}

/* Another program takes the place of what there was. */
static __always_inline void note_program(__u32 pid, __u32 is_between)
{
	struct change c = { bpf_ktime_get_ns(), 0, 0, is_between };

	put_change(pid, &c);
}

/*
 * Something has changed, but for the mappings of that image.  The loader may be
 * about to tell of another one, in which it has: so that is noted always.  What exec
 * maps is of the next program, which doesn't run yet.
 */
static __always_inline void note_change(__u32 pid, __u32 image)
{
	struct change *before = bpf_map_lookup_elem(&changes, &pid);
	struct change c = { bpf_ktime_get_ns(), 0, image, 0 };

	if (before) {
		c.untold = before->untold;
		c.is_between = before->is_between;
	}
	put_change(pid, &c);
}

/* Something has changed at that time that the loader has to look for. */
static __always_inline void note_untold(__u32 pid, __u64 time)
{
	struct change *before = bpf_map_lookup_elem(&changes, &pid);
	struct change c = { time, time, 0, before && before->is_between };

	put_change(pid, &c);
}

/* The process has mapped code for all that share its memory. */
static __always_inline void note_sharing(struct mm_struct *mm, __u32 pid)
{
	struct sharing s = { bpf_ktime_get_ns(), 0, pid, 0 }, *before;
	__u64 key = (__u64)mm;

	before = bpf_map_lookup_elem(&sharings, &key);
	if (before)
		s.before = before->pid == pid ? before->before : before->time;
	bpf_map_update_elem(&sharings, &key, &s, BPF_ANY);
	is_shared = 1;
	count_change();
}

/* A memory begins, at an address where the kernel may have had another one before. */
static __always_inline void forget_sharing(const struct mm_struct *mm)
{
	__u64 key = (__u64)mm;

	if (is_shared)
		bpf_map_delete_elem(&sharings, &key);
}

/* When what a process has mapped changed last without being told of; or 0. */
static __always_inline __u64 untold_of(const struct change *c, __u32 pid,
				       const struct mm_struct *mm)
{
	__u64 time = c ? c->untold : 0, key = (__u64)mm, other;
	struct sharing *s;

	s = is_shared ? bpf_map_lookup_elem(&sharings, &key) : NULL;
	if (!s)
		return time;
	other = s->pid == pid ? s->before : s->time;
	return other > time ? other : time;
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

/* What is known of the current process: it is wanted if something is. */
static __always_inline void look_for(struct known *k, __u32 pid)
{
	struct task_struct *task = (void *)bpf_get_current_task_btf();
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
	k->untold = untold_of(c, pid, task->mm);
	if (p && !is_newer(c, p) && k->untold <= p->looked && head_of(p))
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
