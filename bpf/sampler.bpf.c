// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Samples of programs' stacks: at a clock's ticks, page faults and system
 * calls, and where threads wait.  What is equal is counted here; a stack leaves
 * the kernel once.
 */
#include "bpfkernel.h"
#include "bpfwalk.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* Set by the loader. */
const volatile struct ow_bpf_arch arch;
const volatile __u32 max_frames = OW_BPF_FRAMES;
const volatile bool everyone;  /* or only who is in targets */
const volatile bool by_thread; /* tell threads of equal names apart */
const volatile bool follow;    /* children of targets are some, too */
const volatile bool with_kernel;
const volatile bool with_results; /* of system calls */
const volatile bool with_stacks = true;
const volatile __u64 shortest_wait = 1000;   /* ns */
const volatile __u8 wanted[OW_BPF_SYSCALLS]; /* system calls, or */
const volatile bool all_wanted = true;
/* Which argument is text, from 1; 0: none. */
const volatile __u8 text_args[OW_BPF_SYSCALLS];

/* Programs that may interrupt each other. */
enum {
	SLOT_CLOCK,
	SLOT_TRACE,
	SLOT_FAULT,
	NR_SLOTS
};

#define ASK_AGAIN 100000000ULL /* ns */

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, NR_SLOTS);
	__type(key, __u32);
	__type(value, struct walk);
} scratch SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__type(key, struct ow_sample_key);
	__type(value, struct ow_sample_value);
} counts SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__type(key, __u32); /* pid */
	__type(value, __u32);
} targets SEC(".maps");

/* When the loader was asked last for an object's table. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, __u32);
	__type(value, __u64);
} asked SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__type(key, __u32); /* tid */
	__type(value, struct ow_bpf_wait);
} waits SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 24);
} events SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, OW_BPF_NR_COUNTS);
	__type(key, __u32);
	__type(value, __u64);
} tallies SEC(".maps");

static __always_inline void tally(__u32 which, __u64 n)
{
	__u64 *v = bpf_map_lookup_elem(&tallies, &which);

	if (v)
		*v += n;
}

static __always_inline void notify(__u32 type, __u32 pid, __u64 arg)
{
	struct ow_bpf_notice n = { type, pid, arg };

	bpf_ringbuf_output(&events, &n, sizeof(n), BPF_RB_FORCE_WAKEUP);
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

static __always_inline bool is_target(__u32 pid)
{
	return pid && (everyone || bpf_map_lookup_elem(&targets, &pid));
}

/* The registers that the program had when it was interrupted last. */
static __always_inline int load_regs(struct walk *w, struct task_struct *task)
{
	struct user_regs r;

	if (bpf_probe_read_kernel(&r, sizeof(r),
				  (void *)bpf_task_pt_regs((void *)task)))
		return OW_END_FAULT;
	if (r.cs != USER_CS)
		return OW_END_UNSUPPORTED;
	w->reg[0] = r.ax;
	w->reg[1] = r.dx;
	w->reg[2] = r.cx;
	w->reg[3] = r.bx;
	w->reg[4] = r.si;
	w->reg[5] = r.di;
	w->reg[6] = r.bp;
	w->reg[7] = r.sp;
	w->reg[8] = r.r8;
	w->reg[9] = r.r9;
	w->reg[10] = r.r10;
	w->reg[11] = r.r11;
	w->reg[12] = r.r12;
	w->reg[13] = r.r13;
	w->reg[14] = r.r14;
	w->reg[15] = r.r15;
	w->reg[16] = r.ip;
	w->known = (1ULL << 17) - 1;
	return 0;
}

static __always_inline void load_kernel(void *ctx, struct walk *w)
{
	long size = 0;
	__u32 i;

	w->nr_kernel = 0;
	if (!with_kernel)
		return;
	size = bpf_get_stack(ctx, w->frames, 8 * OW_BPF_KERNEL, 0);
	if (size <= 0)
		return;
	w->nr_kernel = size / 8 % (OW_BPF_KERNEL + 1);
	for (i = 0; i < OW_BPF_KERNEL; i++) {
		if (i >= w->nr_kernel)
			break;
		w->hash = (w->hash ^ w->frames[i]) * 0x9e3779b97f4a7c15ULL;
		w->hash ^= w->hash >> 29;
	}
}

static __always_inline void begin(struct walk *w, __u32 slot, __u32 kind)
{
	__u64 *name = (__u64 *)w->out.comm;

	w->slot = slot;
	w->max = max_frames;
	w->nr = 0;
	bpf_get_current_comm(w->out.comm, sizeof(w->out.comm));
	w->hash = (name[0] * 0x9e3779b97f4a7c15ULL ^ name[1]) *
			  0x9e3779b97f4a7c15ULL +
		  kind;
}

static __always_inline void end_of(struct walk *w, __u32 pid, __u32 kind)
{
	__u32 tid = (__u32)bpf_get_current_pid_tgid();
	struct ow_sample_key *k = &w->out.key;

	k->hash = w->hash;
	k->image = w->process.image;
	k->pid = pid;
	k->tid = by_thread ? tid : 0;
	k->kind = kind;
	k->end = w->end;
	k->reserved = 0;
	w->out.tid = tid;
	tally(OW_BPF_SAMPLES, 1);
	tally(OW_BPF_SEEN, w->nr);
	tally(OW_BPF_COLD, w->cold);
	tally(OW_BPF_ENDS + (w->end < OW_NR_ENDS ? w->end : 0), 1);
}

/*
 * Let registers and what is on top of the stack leave, with a key that is no
 * other stack's.  False if there is no room.
 */
static __always_inline bool copy_out(struct walk *w, struct task_struct *task,
				     __u32 pid, __u32 kind)
{
	struct ow_bpf_copy *c = bpf_ringbuf_reserve(&events, sizeof(*c), 0);
	__u64 page;
	int i;

	if (!c)
		return false;
	c->time = bpf_ktime_get_ns();
	w->hash = c->time << 8 ^ bpf_get_smp_processor_id();
	w->nr = 0;
	w->process.image = 0;
	end_of(w, pid, kind);
	w->out.notice.type = OW_BPF_EVENT_COPY;
	w->out.notice.pid = pid;
	w->out.nr_kernel = w->nr_kernel;
	w->out.nr = 0;
	c->head = w->out;
	c->nr_pages = 0;
	c->reserved = 0;
	load_regs(w, task);
	__builtin_memcpy(c->regs, w->reg, sizeof(c->regs));
	bpf_probe_read_kernel(c->kernel, sizeof(c->kernel), w->frames);
	page = reg_of(w, arch.sp) & ~(__u64)(OW_BPF_PAGE - 1);
	for (i = 0; i < OW_BPF_COPY_PAGES; i++) {
		if (bpf_probe_read_user(c->stack + i * OW_BPF_PAGE, OW_BPF_PAGE,
					(void *)(page + i * OW_BPF_PAGE)))
			break;
		c->nr_pages++;
	}
	bpf_ringbuf_submit(c, 0);
	w->copied = 1;
	return true;
}

/*
 * Take the stack of the current thread; its key is in w->out.  NULL if it is
 * no one's that is wanted, or was missed.
 */
static __always_inline struct walk *take(void *ctx, __u32 slot, __u32 kind)
{
	__u32 pid = bpf_get_current_pid_tgid() >> 32;
	struct task_struct *task;
	struct ow_bpf_process *p;
	struct walk *w;
	bool is_kernel;
	int failed;

	if (!is_target(pid))
		return NULL;
	w = bpf_map_lookup_elem(&scratch, &slot);
	if (!w)
		return NULL;
	task = (void *)bpf_get_current_task_btf();
	is_kernel = BPF_CORE_READ(task, flags) & PF_KTHREAD ||
		    !BPF_CORE_READ(task, mm);
	p = bpf_map_lookup_elem(&processes, &pid);
	begin(w, slot, kind);
	w->process.image = 0;
	if (p)
		w->process = *p;
	load_kernel(ctx, w);
	w->end = OW_END_OUTERMOST;
	w->cold = 0;
	w->copied = 0;
	if (is_kernel || !with_stacks) {
		end_of(w, pid, kind);
		return w;
	}
	failed = load_regs(w, task);
	if (failed)
		w->end = failed;
	else if (p)
		walk_run(w);
	else
		w->end = OW_END_WANT;
	if (w->end == OW_END_WANT && p)
		ask(pid, w->range.object);
	if (w->end == OW_END_WANT || w->end == OW_END_NO_MODULE) {
		if (copy_out(w, task, pid, kind)) {
			tally(OW_BPF_COPIED, 1);
			return w;
		}
		tally(OW_BPF_MISSED, 1);
		return NULL;
	}
	end_of(w, pid, kind);
	return w;
}

/* Let the stack leave. */
static __always_inline bool emit(struct walk *w)
{
	__u32 nr = w->nr_kernel + w->nr;

	w->out.notice.type = OW_BPF_EVENT_STACK;
	w->out.notice.pid = w->out.key.pid;
	w->out.nr_kernel = w->nr_kernel;
	w->out.nr = w->nr;
	if (nr > OW_BPF_FRAMES + OW_BPF_KERNEL)
		return false;
	return !bpf_ringbuf_output(&events, &w->out, sizeof(w->out) + 8 * nr,
				   0);
}

static __always_inline void count(struct walk *w, __u64 n, __u64 value)
{
	struct ow_sample_value first = { n, value };
	struct ow_sample_key key = w->out.key;
	struct ow_sample_value *v;

	v = bpf_map_lookup_elem(&counts, &key);
	if (v) {
		__sync_fetch_and_add(&v->count, n);
		__sync_fetch_and_add(&v->value, value);
		return;
	}
	if (bpf_map_update_elem(&counts, &key, &first, BPF_NOEXIST)) {
		tally(OW_BPF_LOST, n);
		return;
	}
	if (!w->copied && !emit(w)) {
		bpf_map_delete_elem(&counts, &key);
		tally(OW_BPF_LOST, n);
	}
}

SEC("perf_event")

int on_clock(void *ctx)
{
	struct walk *w = take(ctx, SLOT_CLOCK, OW_SAMPLE_CPU);

	if (w)
		count(w, 1, 1);
	return 0;
}

SEC("perf_event")

int on_fault(void *ctx)
{
	struct walk *w = take(ctx, SLOT_FAULT, OW_SAMPLE_FAULT);

	if (w)
		count(w, 1, 1);
	return 0;
}

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
	struct walk *w;
	__u32 tid;

	end_wait(BPF_CORE_READ(next, pid));
	w = take(ctx, SLOT_TRACE, OW_SAMPLE_OFF_CPU);
	if (!w)
		return 0;
	tid = w->out.tid;
	wait.since = bpf_ktime_get_ns();
	wait.key = w->out.key;
	bpf_map_update_elem(&waits, &tid, &wait, BPF_ANY);
	count(w, 0, 0);
	return 0;
}

/* A system call's number, or -1 if it isn't wanted. */
static __always_inline bool is_wanted(__u64 nr)
{
	return all_wanted ||
	       (nr < OW_BPF_SYSCALLS && wanted[nr % OW_BPF_SYSCALLS]);
}

static __always_inline void load_args(struct ow_bpf_syscall *s,
				      const struct user_regs *r)
{
	__u32 text;

	s->args[0] = r->di;
	s->args[1] = r->si;
	s->args[2] = r->dx;
	s->args[3] = r->r10;
	s->args[4] = r->r8;
	s->args[5] = r->r9;
	s->text[0] = '\0';
	text = text_args[(__u32)s->nr % OW_BPF_SYSCALLS];
	if (text == 1)
		bpf_probe_read_user_str(s->text, sizeof(s->text),
					(void *)r->di);
	else if (text == 2)
		bpf_probe_read_user_str(s->text, sizeof(s->text),
					(void *)r->si);
}

SEC("raw_tp/sys_enter")

int on_enter(struct bpf_raw_tracepoint_args *ctx)
{
	struct ow_bpf_syscall *s;
	struct user_regs r;
	struct walk *w;

	if (!is_wanted(ctx->args[1]))
		return 0;
	w = take(ctx, SLOT_TRACE, OW_SAMPLE_SYSCALL);
	if (!w)
		return 0;
	count(w, 1, 1);
	if (!with_results)
		return 0;
	bpf_probe_read_kernel(&r, sizeof(r), (void *)ctx->args[0]);
	s = bpf_ringbuf_reserve(&events, sizeof(*s), 0);
	if (!s) {
		tally(OW_BPF_LOST, 1);
		return 0;
	}
	s->notice.type = OW_BPF_EVENT_ENTER;
	s->notice.pid = w->out.key.pid;
	s->notice.arg = 0;
	s->key = w->out.key;
	s->time = bpf_ktime_get_ns();
	s->tid = w->out.tid;
	s->nr = (__s32)ctx->args[1];
	s->result = 0;
	__builtin_memcpy(s->comm, w->out.comm, sizeof(s->comm));
	load_args(s, &r);
	bpf_ringbuf_submit(s, 0);
	return 0;
}

SEC("raw_tp/sys_exit")

int on_leave(struct bpf_raw_tracepoint_args *ctx)
{
	__u64 id = bpf_get_current_pid_tgid(), nr = 0;
	struct ow_bpf_syscall *s;

	if (!is_target(id >> 32))
		return 0;
	bpf_probe_read_kernel(&nr, sizeof(nr),
			      &((struct user_regs *)ctx->args[0])->orig_ax);
	if (!is_wanted(nr))
		return 0;
	s = bpf_ringbuf_reserve(&events, sizeof(*s), 0);
	if (!s) {
		tally(OW_BPF_LOST, 1);
		return 0;
	}
	__builtin_memset(s, 0, sizeof(*s));
	s->notice.type = OW_BPF_EVENT_LEAVE;
	s->notice.pid = id >> 32;
	s->time = bpf_ktime_get_ns();
	s->tid = (__u32)id;
	s->nr = (__s32)nr;
	s->result = (__s64)ctx->args[1];
	bpf_ringbuf_submit(s, 0);
	return 0;
}

/* A child begins with what its parent has mapped. */
SEC("raw_tp/sched_process_fork")

int on_fork(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *from = (void *)ctx->args[0];
	struct task_struct *to = (void *)ctx->args[1];
	__u32 parent = BPF_CORE_READ(from, tgid), one = 1;
	__u32 child = BPF_CORE_READ(to, tgid);
	struct ow_bpf_process *p, copy;

	if (parent == child || !is_target(parent))
		return 0;
	if (!everyone && !follow)
		return 0;
	if (!everyone)
		bpf_map_update_elem(&targets, &child, &one, BPF_ANY);
	p = bpf_map_lookup_elem(&processes, &parent);
	if (!p)
		return 0;
	copy = *p;
	bpf_map_update_elem(&processes, &child, &copy, BPF_ANY);
	return 0;
}

SEC("raw_tp/sched_process_exec")

int on_exec(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *task = (void *)ctx->args[0];
	__u32 pid = BPF_CORE_READ(task, tgid);

	bpf_map_delete_elem(&processes, &pid);
	return 0;
}

SEC("raw_tp/sched_process_exit")

int on_exit(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *task = (void *)ctx->args[0];
	__u32 pid = BPF_CORE_READ(task, tgid), tid = BPF_CORE_READ(task, pid);

	bpf_map_delete_elem(&waits, &tid);
	if (pid == tid) {
		bpf_map_delete_elem(&processes, &pid);
		bpf_map_delete_elem(&targets, &pid);
	}
	return 0;
}
