/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The few fields of the kernel's structures that the programs read; where they
 * lie is found when the programs are loaded (CO-RE).
 */
#ifndef OW_BPF_KERNEL_H
#define OW_BPF_KERNEL_H

#include "bpfenv.h"

#define PF_KTHREAD   0x00200000
#define TS_COMPAT    2 /* in a system call of i386 */
#define PIDTYPE_TGID 1

#pragma clang attribute push(__attribute__((preserve_access_index)), \
			     apply_to = record)

typedef struct {
	int counter;
} atomic_t;

struct mm_struct {
	unsigned long start_code;
	atomic_t mm_users; /* threads that have it, and who looks at it */
};

struct ns_common {
	unsigned int inum;
};

struct pid_namespace {
	struct ns_common ns;
};

/* A number, and the namespace where that is it. */
struct upid {
	int nr;
	struct pid_namespace *ns;
};

struct pid {
	unsigned int level;
	struct upid numbers[1]; /* one more than level */
};

struct signal_struct {
	atomic_t live; /* threads that have not ended */
	struct pid *pids[4];
};

struct thread_info {
	__u32 status;
};

struct user_namespace {
	struct user_namespace *parent;
	int level;

	struct {
		__u32 val;
	} owner;
};

struct cred {
	struct {
		__u32 val;
	} uid;
	struct user_namespace *user_ns;
};

struct task_struct {
	struct thread_info thread_info;
	unsigned int flags;
	int on_cpu; /* not where there can be but one */
	int pid;
	int tgid;
	int exit_state; /* not 0: it has ended */
	struct pid *thread_pid;
	struct mm_struct *mm;
	const struct cred *real_cred;
	char comm[16];
	struct signal_struct *signal;
};

struct seq_file;

struct bpf_iter_meta {
	struct seq_file *seq;
};

/* What a program that goes through all tasks is given. */
struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task; /* NULL: that was all */
};

struct linux_binprm {
	const char *filename;
};

struct file;

struct vm_area_struct {
	unsigned long vm_start, vm_end, vm_flags;
	struct file *vm_file;
	struct mm_struct *vm_mm;
};

#pragma clang attribute pop

/* As the kernel lays it out at the top of a task's kernel stack, x86-64. */
struct user_regs {
	__u64 r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di,
		orig_ax, ip, cs, flags, sp, ss;
};

#endif /* OW_BPF_KERNEL_H */
