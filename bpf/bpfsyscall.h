/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* System calls, as they begin and end. */
#ifndef OW_BPF_SYSCALL_H
#define OW_BPF_SYSCALL_H

#include "bpfsample.h"

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
	struct stack *from;
	struct walk *w;

	if (!is_wanted(ctx->args[1]))
		return 0;
	from = take(ctx, NULL, SLOT_TRACE, OW_SAMPLE_SYSCALL, &w);
	if (!from)
		return 0;
	count(w, from, 1, 1);
	if (!with_results)
		return 0;
	bpf_probe_read_kernel(&r, sizeof(r), (void *)ctx->args[0]);
	s = bpf_ringbuf_reserve(&events, sizeof(*s), 0);
	if (!s) {
		tally(OW_BPF_LOST, 1);
		return 0;
	}
	s->notice.type = OW_BPF_EVENT_ENTER;
	s->notice.pid = from->out.key.pid;
	s->notice.arg = 0;
	s->key = from->out.key;
	s->time = bpf_ktime_get_ns();
	s->tid = from->out.tid;
	s->nr = (__s32)ctx->args[1];
	s->result = 0;
	__builtin_memcpy(s->comm, from->out.comm, sizeof(s->comm));
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

#endif /* OW_BPF_SYSCALL_H */
