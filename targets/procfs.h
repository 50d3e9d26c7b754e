/* SPDX-License-Identifier: BSD-2-Clause */
/* What /proc tells of a process (proc(5)). */
#ifndef OW_PROCFS_H
#define OW_PROCFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct ow_error;

/*
 * All threads' ids, in the kernel's order; the caller frees *ret.  dir is
 * /proc/PID/task, open; it is read from its begin.
 */
int ow_tasks_list(int dir, pid_t **ret, size_t *nr_ret, struct ow_error *err);

/*
 * How many threads the kernel counts, without listing them: each is a link of
 * the folder dir (Linux, fs/proc/base.c, proc_task_getattr()).  0: not known.
 */
size_t ow_tasks_count(int dir);

/*
 * Return true if the folder of a process's threads has that one: a thread that has
 * ended may leave its id to another process.
 */
bool ow_tasks_has(int dir, pid_t tid);

/*
 * A thread of the process but its first one, which the process may have outlived:
 * /proc/TID has the memory and the files then, and /proc/PID nothing.  0: there is
 * none.
 */
pid_t ow_tasks_other(pid_t pid);

/* A thread's name (up to size bytes with the zero) and state; false if gone. */
bool ow_task_stat(pid_t pid, pid_t tid, char *name, size_t size, char *state);

/*
 * The same, and what ow_process_stack_start() returns, if start_ret isn't NULL;
 * of the process's main thread only.
 */
bool ow_task_stat_start(pid_t pid, pid_t tid, char *name, size_t size,
			char *state, uint64_t *start_ret);

/*
 * Where the main thread's stack began when the program started, with argc and
 * what stands above it; or 0 (proc_pid_stat(5), startstack).
 */
uint64_t ow_process_stack_start(pid_t pid);

/*
 * Return true if a thread's cgroup is frozen, or about to be, by the freezer of the first
 * version (Linux, cgroup-v1/freezer-subsystem.rst), where that is mounted as usual:
 * its threads do not stop for ptrace(2).  Those that the second version has frozen do.
 */
bool ow_task_is_frozen(pid_t pid, pid_t tid);

/*
 * When the process began, in nanoseconds of CLOCK_BOOTTIME, by whole clock ticks; or 0
 * (proc_pid_stat(5), starttime).
 */
uint64_t ow_process_start_ns(pid_t pid);

/* A number from /proc/PID/status by its key, such as "TracerPid:"; or -1. */
long ow_status_number(pid_t pid, const char *key);

#endif /* OW_PROCFS_H */
