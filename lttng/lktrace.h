/* SPDX-License-Identifier: GPL-2.0-only */
/* The tracepoints that LTTng's events are made of. */
#ifndef LK_TRACE_H
#define LK_TRACE_H

#include <linux/sched.h>
#include <linux/tracepoint.h>

/* Where a stack was taken: field "point". */
enum lk_point {
	LK_SYSCALL_ENTRY,
	LK_COMPAT_SYSCALL_ENTRY, /* nr is a 32-bit program's */
	LK_SCHED_SWITCH,         /* current is about to leave its CPU */
	LK_TIMER,
};

/* A process, and a program of it: a number is another process' one after its end. */
struct lk_process {
	pid_t pid;
	u64 birth;          /* ns of CLOCK_MONOTONIC */
	unsigned int execs; /* programs that it and those before it executed */
};

/* The process of a task that has not ended. */
static inline struct lk_process lk_process_of(const struct task_struct *p)
{
	return (struct lk_process){
		.pid = p->tgid,
		.birth = p->group_leader->start_time,
		.execs = p->self_exec_id,
	};
}

struct lk_mapping {
	struct lk_process of;
	u64 start, end, off; /* off: in the file */
	u64 ino;
	const char *path;
	const u8 *build_id;
	unsigned int build_id_size; /* 0: it has none, or it isn't at hand */
};

/* The stack is taken by who listens: of current. nr: -1 if there is none. */
DECLARE_TRACE(kunwind_callstack, TP_PROTO(unsigned int point, int nr),
	      TP_ARGS(point, nr));

/* A system call ends whose begin was such a point. */
DECLARE_TRACE(kunwind_syscall_exit, TP_PROTO(int nr, long ret),
	      TP_ARGS(nr, ret));

/* A process has code mapped. */
DECLARE_TRACE(kunwind_map, TP_PROTO(const struct lk_mapping *map),
	      TP_ARGS(map));

/* A process has what its parent has mapped; it has nothing mapped any more. */
DECLARE_TRACE(kunwind_fork,
	      TP_PROTO(const struct lk_process *parent,
		       const struct lk_process *child),
	      TP_ARGS(parent, child));
DECLARE_TRACE(kunwind_exec, TP_PROTO(const struct lk_process *process),
	      TP_ARGS(process));

#endif /* LK_TRACE_H */
