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
#define NR_MREMAP          25
#define NR_PKEY_MPROTECT   329
#define NR32_MMAP          90 /* of 32-bit programs */
#define NR32_MPROTECT      125
#define NR32_MREMAP        163
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
	struct mm_struct *mm = BPF_CORE_READ(to, mm);
	struct ow_bpf_process *p, copy;
	struct change *c;
	__u64 untold;

	if (parent == child || !is_target(parent))
		return 0;
	if (!everyone && !follow)
		return 0;
	if (!everyone && bpf_map_update_elem(&targets, &child, &one, BPF_ANY))
		__sync_fetch_and_add(&unfollowed, 1);
	if (mm != BPF_CORE_READ(from, mm))
		forget_sharing(mm);
	p = bpf_map_lookup_elem(&processes, &parent);
	c = bpf_map_lookup_elem(&changes, &parent);
	untold = untold_of(c, parent, BPF_CORE_READ(from, mm));
	if (untold && (!p || untold > p->looked)) {
		note_untold(child, untold);
	} else if (p && !is_newer(c, p)) {
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

	if (!is_new(task) || !is_target(pid))
		return 0;
	forget_sharing(task->mm);
	note_program(pid, true);
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
	note_program(pid, false);
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

/*
 * Code is mapped in a memory.  More threads may have that than the process has: what
 * one process maps is another one's then, too, and no event tells of that.
 */
static __always_inline void take_memory(struct mm_struct *mm)
{
	struct task_struct *task = (void *)bpf_get_current_task_btf();

	if (BPF_CORE_READ(mm, mm_users.counter) >
	    BPF_CORE_READ(task, signal, live.counter))
		note_sharing(mm, current_pid());
}

static __always_inline int take_area(struct vm_area_struct *vma)
{
	if (!(BPF_CORE_READ(vma, vm_flags) & VM_EXEC))
		return 0;
	take_memory(BPF_CORE_READ(vma, vm_mm));
	return take_mapping(BPF_CORE_READ(vma, vm_start),
			    BPF_CORE_READ(vma, vm_end),
			    BPF_CORE_READ(vma, vm_file));
}

/* Code is moved within the memory of the current process, or was just now. */
static __always_inline int take_move(struct mm_struct *mm)
{
	__u32 pid = current_pid();

	take_memory(mm);
	if (is_target(pid) || bpf_map_lookup_elem(&processes, &pid))
		note_untold(pid, bpf_ktime_get_ns());
	return 0;
}

/* mremap(2) has this make room for what it moves, before anyone can run that. */
static __always_inline int take_moved_area(struct vm_area_struct **at)
{
	struct vm_area_struct *vma;

	if (bpf_probe_read_kernel(&vma, sizeof(vma), at) ||
	    !(BPF_CORE_READ(vma, vm_flags) & VM_EXEC))
		return 0;
	return take_move(BPF_CORE_READ(vma, vm_mm));
}

/* The kernel calls this before anyone can run what is mapped. */
SEC("fentry/perf_event_mmap")

int on_map(__u64 *ctx)
{
	return take_area((void *)ctx[0]);
}

SEC("fentry/copy_vma")

int on_move(__u64 *ctx)
{
	return take_moved_area((void *)ctx[0]);
}

/* The number of the system call that the current thread is in, or one of none. */
static __always_inline __u32 current_call(void)
{
	struct user_regs *r =
		(void *)bpf_task_pt_regs(bpf_get_current_task_btf());
	__u64 nr = 0;

	bpf_probe_read_kernel(&nr, sizeof(nr), &r->orig_ax);
	return (__u32)nr & ~OW_BPF_X32;
}

/* Memory has become more: code, too, where mremap(2) makes it longer in its place. */
static __always_inline int take_growth(struct mm_struct *mm, __u64 flags,
				       long pages)
{
	__u32 nr;

	if (!(flags & VM_EXEC) || pages <= 0)
		return 0;
	/* No other call by these numbers maps anything. */
	nr = current_call();
	return nr == NR_MREMAP || nr == NR32_MREMAP ? take_move(mm) : 0;
}

SEC("fentry/vm_stat_account")

int on_growth(__u64 *ctx)
{
	return take_growth((void *)ctx[0], ctx[1], (long)ctx[2]);
}

/* The same, for kernels that can't do that. */
SEC("kprobe/perf_event_mmap")

int on_map_probe(struct user_regs *ctx)
{
	return take_area((void *)ctx->di);
}

SEC("kprobe/copy_vma")

int on_move_probe(struct user_regs *ctx)
{
	return take_moved_area((void *)ctx->di);
}

SEC("kprobe/vm_stat_account")

int on_growth_probe(struct user_regs *ctx)
{
	return take_growth((void *)ctx->di, ctx->si, (long)ctx->dx);
}

/* Is code known there, or isn't it known what is? */
static __always_inline bool may_have_code(__u64 start, __u64 size)
{
	__u32 pid = current_pid(), at;
	struct ow_bpf_process *p;
	struct ow_bpf_range *r;

	p = bpf_map_lookup_elem(&processes, &pid);
	if (!p || is_stale(p, pid))
		return true;
	at = (__u32)first_behind(p->first, p->nr, start);
	if (at >= p->nr)
		return false;
	at += p->first;
	r = bpf_map_lookup_elem(&ranges, &at);
	return r && r->start < start + size;
}

/* Return true if a system call is one that moves what may be code. */
static __always_inline bool moves_code(const struct user_regs *r)
{
	if (r->cs == USER32_CS)
		return r->orig_ax == NR32_MREMAP && may_have_code(r->bx, r->cx);
	return r->orig_ax == NR_MREMAP && may_have_code(r->di, r->si);
}

/* Return true if a system call is one that maps code, or makes memory code. */
static __always_inline bool maps_code(const struct user_regs *r)
{
	/* The oldest one of i386 has its arguments in memory. */
	if (r->cs == USER32_CS)
		return r->orig_ax == NR32_MMAP ||
		       (r->dx & PROT_EXEC &&
			(r->orig_ax == NR32_MMAP2 ||
			 r->orig_ax == NR32_MPROTECT ||
			 r->orig_ax == NR32_PKEY_MPROTECT));
	return r->dx & PROT_EXEC &&
	       (r->orig_ax == NR_MMAP || r->orig_ax == NR_MPROTECT ||
		r->orig_ax == NR_PKEY_MPROTECT);
}

/* What another process does, or a call that moves code, is told of by no event. */
static __always_inline int take_untold_call(const struct user_regs *r,
					    struct mm_struct *mm)
{
	if (moves_code(r))
		return take_move(mm);
	if (maps_code(r))
		take_memory(mm);
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
	take_untold_call(&r, (void *)ctx->args[0]);
	if (!maps_code(&r))
		return 0;
	/* A 32-bit program's code may be anywhere afterwards. */
	if (r.cs == USER32_CS)
		return take_mapping(0, ~0ULL, true);
	if (r.orig_ax != NR_MMAP)
		return take_mapping(r.di, r.di + r.si, false);
	if (r.r10 & MAP_FIXED)
		return take_mapping(r.di, r.di + r.si, !(r.r10 & MAP_ANON));
	return take_mapping(0, ~0ULL, true);
}

/* What has changed by then may be looked at: the call lets go of the memory. */
SEC("raw_tp/mmap_lock_released")

int on_unlock(struct bpf_raw_tracepoint_args *ctx)
{
	struct user_regs r;
	void *task;

	if (!ctx->args[1]) /* only to read */
		return 0;
	task = (void *)bpf_get_current_task_btf();
	if (bpf_probe_read_kernel(&r, sizeof(r),
				  (void *)bpf_task_pt_regs(task)))
		return 0;
	return take_untold_call(&r, (void *)ctx->args[0]);
}

#endif /* OW_BPF_LIVES_H */
