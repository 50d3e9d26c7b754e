/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Processes begin, are replaced, map code, and end. */
#ifndef OW_BPF_LIVES_H
#define OW_BPF_LIVES_H

#include "bpfswitch.h"
#include "bpfsyscall.h"

#define VM_EXEC 4

/* Linux, x86-64: system calls, and what their arguments are made of. */
#define NR_MMAP            9
#define NR_MPROTECT        10
#define NR_PKEY_MPROTECT   329
#define NR32_MMAP          90 /* of 32-bit programs */
#define NR32_MPROTECT      125
#define NR32_MMAP2         192
#define NR32_PKEY_MPROTECT 380
#define PROT_EXEC          4
#define MAP_FIXED          0x10
#define MAP_ANON           0x20

/* A child begins with what its parent has mapped. */
SEC("raw_tp/sched_process_fork")

int on_fork(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *from = (void *)ctx->args[0];
	struct task_struct *to = (void *)ctx->args[1];
	__u32 parent = pid_of(from), child = pid_of(to), one = 1;
	struct ow_bpf_process *p, copy;

	if (parent == child || !is_target(parent))
		return 0;
	if (!everyone && !follow)
		return 0;
	if (!everyone)
		bpf_map_update_elem(&targets, &child, &one, BPF_ANY);
	p = bpf_map_lookup_elem(&processes, &parent);
	if (p && !is_stale(p, parent)) {
		copy = *p;
		bpf_map_update_elem(&processes, &child, &copy, BPF_ANY);
	}
	count_change();
	return 0;
}

/*
 * Exec has the new program's memory, and names the thread after that.  Where its
 * code is has still to be said, and what its registers are comes last: both by
 * the time that the next event tells.
 */
SEC("raw_tp/task_rename")

int on_rename(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *task = (void *)bpf_get_current_task_btf();
	__u32 pid = current_pid();

	if (is_new(task) && is_target(pid))
		note(pid, 0, true);
	return 0;
}

SEC("raw_tp/sched_process_exec")

int on_exec(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *task = (void *)ctx->args[0];
	__u32 pid = pid_of(task), tid = (__u32)ctx->args[1];

	if (!is_target(pid))
		return 0;
	/* Only the first namespace's number is told of who was another thread. */
	if (pid_namespace)
		tid = pid;
	if (with_results)
		tell_program(pid, tid, (void *)ctx->args[2]);
	bpf_map_delete_elem(&processes, &pid);
	note(pid, 0, false);
	return 0;
}

SEC("raw_tp/sched_process_exit")

int on_exit(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *task = (void *)ctx->args[0];
	__u32 pid = pid_of(task), tid = tid_of(task);

	bpf_map_delete_elem(&waits, &tid);
	if (with_results && is_target(pid))
		notify(OW_BPF_EVENT_GONE, pid, tid);
	/* The first thread may end before others do. */
	if (BPF_CORE_READ(task, signal, live.counter) == 0) {
		bpf_map_delete_elem(&processes, &pid);
		bpf_map_delete_elem(&targets, &pid);
		bpf_map_delete_elem(&changes, &pid);
		count_change();
	}
	return 0;
}

/* Which of the process' ranges is the first one to end behind addr; or nr. */
__noinline int first_behind(__u32 first, __u32 nr, __u64 addr)
{
	__u32 low = 0, high = nr, mid, i, at;
	struct ow_bpf_range *r;

	for (i = 0; i < MOST_STEPS && low < high; i++) {
		mid = low + (high - low) / 2;
		at = first + mid;
		r = bpf_map_lookup_elem(&ranges, &at);
		if (r && r->end <= addr)
			low = mid + 1;
		else
			high = mid;
	}
	return (int)low;
}

/* Does code that is mapped now take the place of what is known? */
static __always_inline bool is_replaced(const struct ow_bpf_process *p,
					__u64 start, __u64 end, bool has_file)
{
	struct ow_bpf_range *r;
	__u32 at;

	at = (__u32)first_behind(p->first, p->nr, start);
	if (at >= p->nr)
		return false;
	at += p->first;
	r = bpf_map_lookup_elem(&ranges, &at);
	if (!r || end <= r->start)
		return false;
	/* A JIT's code stays what it is when it is made to run again. */
	return r->object || has_file || start < r->start || end > r->end;
}

static __always_inline int take_mapping(__u64 start, __u64 end, bool has_file)
{
	__u32 pid = current_pid();
	struct ow_bpf_process *p;

	p = bpf_map_lookup_elem(&processes, &pid);
	if (!p && !is_target(pid))
		return 0;
	/* What is stale can't tell what it is that is replaced. */
	if (p && (is_stale(p, pid) || is_replaced(p, start, end, has_file)))
		p = NULL;
	note_change(pid, p ? p->image : 0);
	return 0;
}

static __always_inline int take_area(struct vm_area_struct *vma)
{
	if (!(BPF_CORE_READ(vma, vm_flags) & VM_EXEC))
		return 0;
	return take_mapping(BPF_CORE_READ(vma, vm_start),
			    BPF_CORE_READ(vma, vm_end),
			    BPF_CORE_READ(vma, vm_file));
}

/* The kernel calls this before anyone can run what is mapped. */
SEC("fentry/perf_event_mmap")

int on_map(__u64 *ctx)
{
	return take_area((void *)ctx[0]);
}

/* The same, for kernels that can't do that. */
SEC("kprobe/perf_event_mmap")

int on_map_probe(struct user_regs *ctx)
{
	return take_area((void *)ctx->di);
}

/* A 32-bit program's: its code may be anywhere afterwards. */
static __always_inline int take_narrow_call(const struct user_regs *r)
{
	/* The oldest one has its arguments in memory. */
	if (r->orig_ax == NR32_MMAP ||
	    (r->dx & PROT_EXEC &&
	     (r->orig_ax == NR32_MMAP2 || r->orig_ax == NR32_MPROTECT ||
	      r->orig_ax == NR32_PKEY_MPROTECT)))
		return take_mapping(0, ~0ULL, true);
	return 0;
}

/*
 * The same, for those that can't do this either: a system call is about to
 * change what is mapped.  Where it will be isn't always known; and it may fail.
 */
SEC("raw_tp/mmap_lock_start_locking")

int on_lock(struct bpf_raw_tracepoint_args *ctx)
{
	struct user_regs r;
	void *task;

	if (!ctx->args[1]) /* only to read */
		return 0;
	task = (void *)bpf_get_current_task_btf();
	if (bpf_probe_read_kernel(&r, sizeof(r),
				  (void *)bpf_task_pt_regs(task)))
		return 0;
	if (r.cs == USER32_CS)
		return take_narrow_call(&r);
	if (!(r.dx & PROT_EXEC))
		return 0;
	if (r.orig_ax == NR_MPROTECT || r.orig_ax == NR_PKEY_MPROTECT)
		return take_mapping(r.di, r.di + r.si, false);
	if (r.orig_ax != NR_MMAP)
		return 0;
	if (r.r10 & MAP_FIXED)
		return take_mapping(r.di, r.di + r.si, !(r.r10 & MAP_ANON));
	return take_mapping(0, ~0ULL, true);
}

#endif /* OW_BPF_LIVES_H */
