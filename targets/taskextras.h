/* SPDX-License-Identifier: BSD-2-Clause */
/* What a thread does in the kernel, as /proc tells it (proc(5)). */
#ifndef OW_TASKEXTRAS_H
#define OW_TASKEXTRAS_H

#include <stdint.h>
#include <sys/types.h>

struct ow_thread;

/*
 * Fill what extras (enum ow_extras) asks for in t, and what it doesn't ask for
 * with "not known".  Before the thread is stopped: afterwards the kernel tells
 * of the stop.  What can't be read is not known, and t->extras_errno says why.
 * The strings are allocated; ow_capture_destroy() frees them.  *pc is where the call
 * returns to that the thread is in, or 0.
 */
void ow_taskextras_read(pid_t pid, pid_t tid, unsigned int extras,
			struct ow_thread *t, uint64_t *pc);

/*
 * The content of /proc/PID/task/TID/syscall: a number, six arguments, sp and
 * pc; "running"; or -1, sp and pc of a thread that was stopped elsewhere.
 * Return the number, OW_SYSCALL_NONE, or OW_SYSCALL_UNKNOWN if it is none of
 * that.  Only with a number are args and *pc written to.
 */
int ow_taskextras_parse_syscall(const char *text, uint64_t args[6],
				uint64_t *pc);

#endif /* OW_TASKEXTRAS_H */
