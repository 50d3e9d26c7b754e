/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Taking a sample: the current thread's stack, counted or on its way out. */
#ifndef OW_BPF_SAMPLE_H
#define OW_BPF_SAMPLE_H

#include "bpfchanges.h"
#include "bpfpids.h"
#include "bpfregs.h"
#include "bpfshares.h"
#include "bpfuser.h"

/* Programs that may interrupt each other. */
enum {
	SLOT_CLOCK,
	SLOT_TRACE,
	SLOT_FAULT
};

/* By CPU, and for each of them by slot: too large for a map of CPUs. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE); /* begins with a page: lines, too */
	__uint(max_entries, OW_BPF_SLOTS);
	__type(key, __u32);
	__type(value, struct walk);
} walks SEC(".maps");

/* The same, of what can't be walked here. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, OW_BPF_SLOTS);
	__type(key, __u32);
	__type(value, struct ow_bpf_copy);
} copies SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MOST_COUNTS);
	__type(key, struct ow_sample_key);
	__type(value, struct ow_sample_value);
} counts SEC(".maps");

static __always_inline struct walk *walk_here(__u32 slot)
{
	__u32 at = bpf_get_smp_processor_id() * OW_BPF_SLOTS + slot;

	return bpf_map_lookup_elem(&walks, &at);
}

/* By itself, so that no way out of the loop is one into what follows. */
__noinline int hash_kernel(struct walk *w)
{
	__u32 i;

	if (!w)
		return 0;
	for (i = 0; i < OW_BPF_KERNEL; i++) {
		if (i >= w->nr_kernel)
			break;
		w->hash = hash_more(w->hash, w->stack.frames[i]);
	}
	return 0;
}

static __always_inline void load_kernel(void *ctx, struct walk *w, bool in_user)
{
	long size = 0;

	w->nr_kernel = 0;
	if (!with_kernel || in_user)
		return;
	size = bpf_get_stack(ctx, w->stack.frames, 8 * OW_BPF_KERNEL, 0);
	if (size <= 0)
		return;
	w->nr_kernel = size / 8 % (OW_BPF_KERNEL + 1);
	hash_kernel(w);
}

static __always_inline void begin(struct walk *w)
{
	struct ow_bpf_stack *out = &w->stack.out;
	__u64 *name = (__u64 *)out->comm;

	w->now = loader_time;
	w->max = max_frames;
	w->nr = 0;
	w->cold = 0;
	w->copied = 0;
	w->careful = 0;
	out->uid = (__u32)current_user();
	out->reserved = 0;
	bpf_get_current_comm(out->comm, sizeof(out->comm));
	w->hash = hash_more(hash_more(hash_key, name[0]), name[1]);
}

static __always_inline void end_of(struct walk *w, __u32 pid, __u32 kind)
{
	__u32 tid = (__u32)current_ids();
	struct ow_sample_key *k = &w->stack.out.key;
	__u64 *nr = tallies_here();

	k->hash = w->hash;
	k->image = w->process.image;
	k->pid = pid;
	k->tid = by_thread ? tid : 0;
	k->kind = kind;
	k->end = w->end;
	k->reserved = 0;
	w->stack.out.tid = tid;
	if (!nr)
		return;
	nr[OW_BPF_SAMPLES]++;
	nr[OW_BPF_SEEN] += w->nr;
	nr[OW_BPF_COLD] += w->cold;
	nr[OW_BPF_ENDS + w->end % OW_BPF_MOST_ENDS]++;
}

/*
 * The first page of a stack that is there: what a function has made room for may
 * not have been written yet.
 */
static __always_inline __u64 first_page(__u64 sp)
{
	__u64 page = sp & ~(__u64)(OW_BPF_PAGE - 1);
	char byte;
	int i;

	for (i = 0; i < OW_BPF_COPY_PAGES; i++)
		if (!bpf_probe_read_user(&byte, 1,
					 (void *)(page + i * OW_BPF_PAGE)))
			return page + i * OW_BPF_PAGE;
	return page;
}

/*
 * Let registers and what is on top of the stack leave, with a key that is no
 * other stack's.  False if there is no room, or none that the process may take.
 */
static __always_inline bool copy_out(struct walk *w, __u32 pid, __u32 kind)
{
	__u32 at = bpf_get_smp_processor_id() * OW_BPF_SLOTS + w->slot;
	struct ow_bpf_copy *c = bpf_map_lookup_elem(&copies, &at);
	__u64 size = offsetof(struct ow_bpf_copy, stack);
	struct ow_bpf_stack *out = &w->stack.out;
	int i;

	if (!c)
		return false;
	c->time = bpf_ktime_get_ns();
	c->untold = w->untold;
	w->hash = c->time << 8 ^ bpf_get_smp_processor_id();
	w->nr = 0;
	out->notice.arg = w->process.image ? 0 : OW_BPF_UNTOLD;
	w->process.image = 0;
	end_of(w, pid, kind);
	out->notice.type = OW_BPF_EVENT_COPY;
	out->notice.pid = pid;
	out->nr_kernel = w->nr_kernel;
	out->nr = 0;
	c->head = *out;
	c->nr_pages = 0;
	c->word = load_regs(w) == NARROW ? 4 : 8;
	__builtin_memcpy(c->regs, w->reg, sizeof(c->regs));
	bpf_probe_read_kernel(c->kernel, sizeof(c->kernel), w->stack.frames);
	c->low = first_page(reg_of(w, c->word == 4 ? ESP : arch.sp));
	for (i = 0; i < OW_BPF_COPY_PAGES; i++) {
		if (bpf_probe_read_user(c->stack + i * OW_BPF_PAGE, OW_BPF_PAGE,
					(void *)(c->low + i * OW_BPF_PAGE)))
			break;
		c->nr_pages++;
		size += OW_BPF_PAGE;
	}
	opaque(size);
	if (size > sizeof(*c))
		size = sizeof(*c);
	if (!take_share(pid, out->uid, size))
		return false;
	/* The sooner it is told of, the fewer copies there are. */
	if (bpf_ringbuf_output(&events, c, size, BPF_RB_FORCE_WAKEUP))
		return false;
	w->copied = 1;
	return true;
}

static __always_inline void walk_program(struct walk *w)
{
	__u64 hash = w->hash;

	walk_run(w);
	if (!walk_again(w) || load_regs(w))
		return;
	w->hash = hash;
	walk_run(w);
}

/* Return true if it is a thread of a program, and not of the kernel. */
static __always_inline bool has_program(const struct task_struct *task)
{
	return !(task->flags & (PF_KTHREAD | worker_flags)) && task->mm;
}

/* A function of its own is verified once, not wherever it is called from. */
__noinline int runs_program(void)
{
	return has_program((void *)bpf_get_current_task_btf());
}

/*
 * Walk the program's stack, or let it leave as it is.  False if it is missed.
 */
static __always_inline bool take_program(struct walk *w, __u32 pid, __u32 kind,
					 const struct user_regs *interrupted)
{
	int failed = is_in_user(interrupted) ? put_regs(w, interrupted) :
					       load_regs(w);

	if (failed && failed != NARROW) {
		w->end = failed;
		return true;
	}
	if (!w->process.image)
		w->end = OW_END_WANT;
	else if (failed)
		narrow_run(w);
	else
		walk_program(w);
	if (!ow_bpf_is_for_loader(w->end))
		return true;
	if (w->process.image && w->end == OW_END_WANT)
		ask(pid, w->range.object);
	if (copy_out(w, pid, kind)) {
		tally(OW_BPF_COPIED, 1);
		return true;
	}
	tally(OW_BPF_MISSED, 1);
	return false;
}

/*
 * Take the stack of the current thread; its key is in stack.out.  interrupted is
 * what ctx has of registers, or NULL.  NULL if it is no one's that is wanted, or
 * was missed.
 */
static __always_inline struct walk *
take(void *ctx, const struct user_regs *interrupted, __u32 slot, __u32 kind)
{
	__u32 pid = current_pid();
	struct known *known;
	struct walk *w;

	if (!pid)
		return NULL;
	w = walk_here(slot);
	if (!w)
		return NULL;
	known = known_of(w, pid);
	if (!known->is_wanted)
		return NULL;
	w->slot = slot;
	begin(w);
	note_use(known, w->now);
	w->process = known->process;
	w->untold = known->untold;
	load_kernel(ctx, w, is_in_user(interrupted));
	w->end = OW_END_OUTERMOST;
	if (with_stacks && runs_program()) {
		if (!take_program(w, pid, kind, interrupted))
			return NULL;
		if (w->copied)
			return w;
	}
	end_of(w, pid, kind);
	return w;
}

/* Let the stack leave. */
static __always_inline bool emit(struct walk *w)
{
	struct ow_bpf_stack *out = &w->stack.out;
	__u32 nr = w->nr_kernel + w->nr;

	out->notice.type = OW_BPF_EVENT_STACK;
	out->notice.pid = out->key.pid;
	out->notice.arg = bpf_ktime_get_ns();
	out->nr_kernel = w->nr_kernel;
	out->nr = w->nr;
	if (nr > OW_BPF_FRAMES + OW_BPF_KERNEL)
		return false;
	return !bpf_ringbuf_output(&events, out, sizeof(*out) + 8 * nr,
				   stack_wakeup());
}

/*
 * Add to a key's counts, which were at v, or NULL if there were none.  False if
 * there is no room.
 */
static __always_inline bool add_to(struct ow_sample_value *v,
				   const struct ow_sample_key *key, __u64 n,
				   __u64 value)
{
	struct ow_sample_value first = { n, value };

	if (!v) {
		if (!bpf_map_update_elem(&counts, key, &first, BPF_NOEXIST)) {
			__sync_fetch_and_add(&counted, 1);
			return true;
		}
		/* Another CPU was first. */
		v = bpf_map_lookup_elem(&counts, key);
		if (!v)
			return false;
	}
	__sync_fetch_and_add(&v->count, n);
	__sync_fetch_and_add(&v->value, value);
	return true;
}

static __always_inline void fold(struct walk *w)
{
	ow_sample_fold(&w->stack.out.key);
	w->nr = 0;
	w->nr_kernel = 0;
}

/*
 * Count a stack, and let it leave if it is the first one of its kind: before
 * others, on other CPUs, can find it counted.  If the process has taken all that it
 * may, the stack is counted without its frames, and has another key.  False if there
 * is no room.
 */
static __always_inline bool add(struct walk *w, __u64 n, __u64 value)
{
	struct ow_bpf_stack *out = &w->stack.out;
	struct ow_sample_value *v;
	struct ow_sample_key key;

	v = bpf_map_lookup_elem(&counts, &out->key);
	if (!v && !w->copied) {
		if (!take_share(out->key.pid, out->uid,
				sizeof(*out) + 8 * (w->nr_kernel + w->nr))) {
			fold(w);
			v = bpf_map_lookup_elem(&counts, &out->key);
		}
		if (!v && !emit(w))
			return false;
	}
	key = out->key;
	return add_to(v, &key, n, value);
}

static __always_inline void count(struct walk *w, __u64 n, __u64 value)
{
	if (!add(w, n, value))
		tally(OW_BPF_LOST, n);
}

#endif /* OW_BPF_SAMPLE_H */
