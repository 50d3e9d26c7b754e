/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* System calls, as they begin and end. */
#ifndef OW_BPF_SYSCALL_H
#define OW_BPF_SYSCALL_H

#include "bpfcallshares.h"
#include "bpfsample.h"
#include "bpfuser.h"

/* What of a system call is wanted: execve may end as another ABI's. */
enum wanted {
	WANTED_BEGIN = 1,
	WANTED_END = 2
};

#define MOST_SPINS  4096
#define MOST_HELD   200000      /* ns */
#define HOLD_PARTS  5           /* of eight of the ring, that a process has */
#define LEAST_TAKEN OW_BPF_TEXT /* bytes: that is worth to go on for */

#define MOST_ADDRESS 128 /* bytes: struct sockaddr_storage */

/* A call on its way out. */
struct call {
	struct ow_bpf_syscall is; /* and right behind it: */
	char text[OW_BPF_TEXT];
	struct user_regs regs; /* that it was made with; stays here */
};

struct result {
	struct ow_bpf_result is; /* and right behind it: */
	char text[OW_BPF_TEXT];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct call);
} calls SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct result);
} results SEC(".maps");

/* Threads whose call's text wasn't there yet: the kernel will have read it. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, __u32); /* tid */
	__type(value, __u32);
} unread SEC(".maps");

/* A system call's number, with its ABI. */
static __always_inline __u32 number_of(__u64 nr)
{
	struct task_struct *task = (void *)bpf_get_current_task_btf();
	__u32 n = (__u32)nr;

	/* No number of x86-64's has that bit: told as a negative one, it is no call. */
	if (!(BPF_CORE_READ(task, thread_info.status) & TS_COMPAT))
		return n & OW_BPF_I386 ? n | 1U << 31 : n;
	/* None of i386's has one of these bits. */
	if (n >= OW_BPF_I386)
		n |= OW_BPF_X32;
	return (n & ~(1U << 31)) | OW_BPF_I386;
}

static __always_inline bool is_wanted(__u32 nr, enum wanted what)
{
	__u32 place = ow_bpf_call_place(nr);

	if (all_wanted)
		return true;
	opaque(place);
	if (place >= OW_BPF_SYSCALLS)
		return others_wanted;
	return wanted[place % OW_BPF_SYSCALLS] & what;
}

/* The argument that is text, maybe with OW_BPF_ADDRESS; 0: none. */
static __always_inline __u32 text_of(__u32 nr)
{
	__u32 place = ow_bpf_call_place(nr);

	opaque(place);
	return place < OW_BPF_SYSCALLS ? text_args[place % OW_BPF_SYSCALLS] : 0;
}

static __always_inline void load_args(__u64 *args, const struct user_regs *r,
				      __u32 nr)
{
	/* -1, a number that tools put there, has that bit, too. */
	if (nr & OW_BPF_I386 && !(nr >> 31)) {
		args[0] = (__u32)r->bx;
		args[1] = (__u32)r->cx;
		args[2] = (__u32)r->dx;
		args[3] = (__u32)r->si;
		args[4] = (__u32)r->di;
		args[5] = (__u32)r->bp;
	} else {
		args[0] = r->di;
		args[1] = r->si;
		args[2] = r->dx;
		args[3] = r->r10;
		args[4] = r->r8;
		args[5] = r->r9;
	}
}

/* Where the text is that one of the arguments points to. */
static __always_inline __u64 addr_of(const __u64 *args, __u32 arg)
{
	arg &= ~OW_BPF_ADDRESS;
	if (arg == 2)
		return args[1];
	if (arg == 3)
		return args[2];
	if (arg == 4)
		return args[3];
	return arg == 5 ? args[4] : args[0];
}

/* As load_text(); it may have any bytes in it. */
static __always_inline __u32 load_address(char *text, const __u64 *args,
					  __u32 arg)
{
	__u64 size = (__u32)(arg == (OW_BPF_ADDRESS | 5) ? args[5] : args[2]);

	if (size > MOST_ADDRESS)
		size = MOST_ADDRESS;
	opaque(size);
	if (size == 0 || size > MOST_ADDRESS ||
	    bpf_probe_read_user(text, (__u32)size, (void *)addr_of(args, arg)))
		return 0;
	text[size] = '\0';
	return (__u32)size + 1;
}

/* Bytes of the text, with a NUL; 0: it can't be read. */
static __always_inline __u32 load_text(char *text, const __u64 *args, __u32 arg)
{
	long size;

	if (arg & OW_BPF_ADDRESS)
		return load_address(text, args, arg);
	size = bpf_probe_read_user_str(text, OW_BPF_TEXT,
				       (void *)addr_of(args, arg));
	/* One bound after the other: Linux 6.1 knows a size by no other check. */
	if (size <= 0)
		return 0;
	opaque(size);
	return size <= OW_BPF_TEXT ? (__u32)size : 0;
}

/*
 * Whoever calls faster than calls are taken is held up for a while, so that none
 * is lost: until something was taken.
 */
__noinline int hold_up(__u64 taken)
{
	__u64 begun = bpf_ktime_get_ns();
	__u32 i;

	for (i = 0; i < MOST_SPINS; i++) {
		if (bpf_ringbuf_query(&events, BPF_RB_CONS_POS) - taken >=
			    LEAST_TAKEN ||
		    bpf_ktime_get_ns() - begun > MOST_HELD)
			break;
		opaque(i);
	}
	return 0;
}

/* False if there is none for a call of the thread. */
static __always_inline bool make_room(__u32 pid, __u32 tid)
{
	__u32 user = (__u32)current_user();
	int parts = call_parts(pid, user);

	if (parts >= HOLD_PARTS) {
		hold_up(bpf_ringbuf_query(&events, BPF_RB_CONS_POS));
		parts = call_parts(pid, user);
	}
	if (parts < 8) {
		was_refused(tid); /* another thread of that number */
		return true;
	}
	refuse_call(pid, tid);
	return false;
}

/* Let what is there of a call, or of its result, leave. */
static __always_inline void send(void *event, __u64 size, __u32 pid)
{
	if (bpf_ringbuf_output(&events, event, size, BPF_RB_NO_WAKEUP)) {
		lose_call(pid);
		return;
	}
	charge_call(pid, (__u32)current_user(), size);
}

/* A call leaves with the stack that it was made from, or without any. */
static __always_inline void tell_call(const void *regs, __u32 nr,
				      const struct walk *from)
{
	__u64 id = current_ids();
	__u32 zero = 0, tid = (__u32)id, arg = text_of(nr), size = 0;
	struct call *c = bpf_map_lookup_elem(&calls, &zero);

	if (!c)
		return;
	c->is.notice.type = OW_BPF_EVENT_ENTER;
	c->is.notice.pid = id >> 32;
	c->is.notice.arg = bpf_ktime_get_ns();
	c->is.tid = tid;
	c->is.nr = (__s32)nr;
	__builtin_memset(&c->is.key, 0, sizeof(c->is.key));
	if (from)
		c->is.key = from->stack.out.key;
	bpf_probe_read_kernel(&c->regs, sizeof(c->regs), regs);
	load_args(c->is.args, &c->regs, nr);
	if (arg) {
		size = load_text(c->text, c->is.args, arg);
		if (!size && addr_of(c->is.args, arg))
			bpf_map_update_elem(&unread, &tid, &nr, BPF_ANY);
	}
	if (size > OW_BPF_TEXT)
		size = OW_BPF_TEXT;
	send(c, sizeof(c->is) + size, c->is.notice.pid);
}

SEC("raw_tp/sys_enter")

int on_enter(struct bpf_raw_tracepoint_args *ctx)
{
	__u32 pid = current_pid(), nr;
	struct walk *from;

	if (!is_target(pid))
		return 0;
	nr = number_of(ctx->args[1]);
	if (!is_wanted(nr, WANTED_BEGIN))
		return 0;
	if (with_results && !make_room(pid, (__u32)current_ids()))
		return 0;
	from = take(ctx, NULL, SLOT_TRACE, OW_SAMPLE_SYSCALL);
	if (!with_results) {
		if (from)
			count(from, 1, 1);
		return 0;
	}
	if (from && !from->copied && !add(from, 1, 1)) {
		tally(OW_BPF_MISSED, 1);
		from = NULL;
	}
	tell_call((void *)ctx->args[0], nr, from);
	return 0;
}

/*
 * The name of a program that is executed, if it couldn't be read: when the call
 * ends, the caller's memory is gone.  It counts as what a call sends.
 */
static __always_inline void tell_program(__u32 pid, __u32 tid,
					 struct linux_binprm *bprm)
{
	__u32 zero = 0;
	struct result *s = bpf_map_lookup_elem(&results, &zero);
	long size;

	if (!s || !bpf_map_lookup_elem(&unread, &tid))
		return;
	bpf_map_delete_elem(&unread, &tid);
	__builtin_memset(&s->is, 0, sizeof(s->is));
	s->is.notice.type = OW_BPF_EVENT_PROGRAM;
	s->is.notice.pid = pid;
	s->is.tid = tid;
	size = bpf_probe_read_kernel_str(s->text, OW_BPF_TEXT,
					 BPF_CORE_READ(bprm, filename));
	if (size <= 0)
		return;
	if (call_parts(pid, (__u32)current_user()) >= 8) {
		lose_call(pid);
		return;
	}
	opaque(size);
	if (size <= OW_BPF_TEXT)
		send(s, sizeof(s->is) + size, pid);
}

/* The text of a call that ends, which the kernel may have read meanwhile. */
static __always_inline __u32 read_late(char *text, const struct user_regs *r,
				       __u32 nr, __u32 tid)
{
	__u32 arg = text_of(nr), *had;
	__u64 args[6];

	had = arg ? bpf_map_lookup_elem(&unread, &tid) : NULL;
	if (!had)
		return 0;
	bpf_map_delete_elem(&unread, &tid);
	load_args(args, r, nr);
	return load_text(text, args, arg);
}

SEC("raw_tp/sys_exit")

int on_leave(struct bpf_raw_tracepoint_args *ctx)
{
	__u64 id = current_ids();
	__u32 zero = 0, nr, size;
	struct user_regs r;
	struct result *s;

	if (!is_target(id >> 32) ||
	    bpf_probe_read_kernel(&r, sizeof(r), (void *)ctx->args[0]))
		return 0;
	nr = number_of(r.orig_ax);
	if (was_refused((__u32)id))
		return 0;
	s = bpf_map_lookup_elem(&results, &zero);
	if (!s || !is_wanted(nr, WANTED_END))
		return 0;
	s->is.notice.type = OW_BPF_EVENT_LEAVE;
	s->is.notice.pid = id >> 32;
	s->is.notice.arg = bpf_ktime_get_ns();
	s->is.tid = (__u32)id;
	s->is.nr = (__s32)nr;
	s->is.result = (__s64)ctx->args[1];
	size = read_late(s->text, &r, nr, (__u32)id);
	if (size > OW_BPF_TEXT)
		size = OW_BPF_TEXT;
	send(s, sizeof(s->is) + size, id >> 32);
	return 0;
}

#endif /* OW_BPF_SYSCALL_H */
