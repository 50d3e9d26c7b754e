/* SPDX-License-Identifier: GPL-2.0-only */
/* What is recorded of each event. LTTng includes this several times. */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM kunwind

#if !defined(LTTNG_TRACE_KUNWIND_H) || defined(TRACE_HEADER_MULTI_READ)
#define LTTNG_TRACE_KUNWIND_H

#include <lttng/tracepoint-event.h>
#include <linux/sched.h>

/* enum lk_point */
LTTNG_TRACEPOINT_ENUM(kunwind_point,
	TP_ENUM_VALUES(
		ctf_enum_value("syscall_entry", 0)
		ctf_enum_value("compat_syscall_entry", 1)
		ctf_enum_value("sched_switch", 2)
		ctf_enum_value("timer", 3)
	)
)

/* enum ow_end: why there are no more frames */
LTTNG_TRACEPOINT_ENUM(kunwind_reason,
	TP_ENUM_VALUES(
		ctf_enum_value("none", 0)
		ctf_enum_value("outermost", 1)
		ctf_enum_value("limit", 2)
		ctf_enum_value("no_module", 3)
		ctf_enum_value("no_cfi", 4)
		ctf_enum_value("bad_rule", 5)
		ctf_enum_value("unsupported", 6)
		ctf_enum_value("fault", 7)
		ctf_enum_value("unknown", 8)
		ctf_enum_value("cycle", 9)
	)
)

LTTNG_TRACEPOINT_EVENT_CODE(kunwind_callstack,
	TP_PROTO(unsigned int point, int nr),
	TP_ARGS(point, nr),
	TP_locvar(
		struct lk_stack stack;
	),
	TP_code_pre(
		lk_stack_take(&tp_locvar->stack);
	),
	TP_FIELDS(
		ctf_enum(kunwind_point, unsigned char, point, point)
		ctf_enum(kunwind_reason, unsigned char, reason,
			tp_locvar->stack.reason)
		ctf_integer(short, nr, nr)
		ctf_integer(pid_t, pid, current->tgid)
		ctf_integer(pid_t, tid, current->pid)
		ctf_integer(u64, birth, current->group_leader->start_time)
		ctf_integer(unsigned int, execs, current->self_exec_id)
		ctf_array_text(char, comm, current->comm, TASK_COMM_LEN)
		ctf_sequence_hex(unsigned long, callstack_user_unwind,
			tp_locvar->stack.pcs, unsigned int,
			tp_locvar->stack.nr)
	),
	TP_code_post(
		lk_stack_drop();
	)
)

LTTNG_TRACEPOINT_EVENT(kunwind_syscall_exit,
	TP_PROTO(int nr, long ret),
	TP_ARGS(nr, ret),
	TP_FIELDS(
		ctf_integer(short, nr, nr)
		ctf_integer(pid_t, pid, current->tgid)
		ctf_integer(pid_t, tid, current->pid)
		ctf_integer(long, ret, ret)
	)
)

LTTNG_TRACEPOINT_EVENT(kunwind_map,
	TP_PROTO(const struct lk_mapping *map),
	TP_ARGS(map),
	TP_FIELDS(
		ctf_integer(pid_t, pid, map->of.pid)
		ctf_integer(u64, birth, map->of.birth)
		ctf_integer(unsigned int, execs, map->of.execs)
		ctf_integer_hex(unsigned long, start, map->start)
		ctf_integer_hex(unsigned long, end, map->end)
		ctf_integer_hex(unsigned long, offset, map->off)
		ctf_integer(unsigned long, inode, map->ino)
		ctf_sequence_hex(unsigned char, build_id, map->build_id,
			unsigned char, map->build_id_size)
		ctf_string(path, map->path)
	)
)

LTTNG_TRACEPOINT_EVENT(kunwind_fork,
	TP_PROTO(const struct lk_process *parent,
		const struct lk_process *child),
	TP_ARGS(parent, child),
	TP_FIELDS(
		ctf_integer(pid_t, parent_pid, parent->pid)
		ctf_integer(u64, parent_birth, parent->birth)
		ctf_integer(pid_t, pid, child->pid)
		ctf_integer(u64, birth, child->birth)
		ctf_integer(unsigned int, execs, child->execs)
	)
)

LTTNG_TRACEPOINT_EVENT(kunwind_exec,
	TP_PROTO(const struct lk_process *process),
	TP_ARGS(process),
	TP_FIELDS(
		ctf_integer(pid_t, pid, process->pid)
		ctf_integer(u64, birth, process->birth)
		ctf_integer(unsigned int, execs, process->execs)
	)
)

#endif

#include <lttng/define_trace.h>
