/* SPDX-License-Identifier: BSD-2-Clause */
/* What /proc tells of a process (proc(5)). */
#ifndef OW_PROCFS_H
#define OW_PROCFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "owner.h"

struct ow_error;

/*
 * Open /proc/PID/task.  The folder stays that process's own: when the process has ended
 * there is nothing in it, also if another one has got its number.  Return a file
 * descriptor, or a negative code and fill err.
 */
int ow_tasks_open(pid_t pid, struct ow_error *err);

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
 * A thread's name alone, for which nobody waits while its process executes another
 * program.  Return false if there is no such thread.
 */
bool ow_task_name(pid_t pid, pid_t tid, char *name, size_t size);

/* What the kernel tells of a thread (proc_pid_stat(5)). */
struct ow_task {
	char name[32];
	char state;
	uint32_t flags; /* enum ow_task_flags, and others */
	/* Where the main thread's stack began when the program started, with argc and
	   what stands above it; or 0 (proc_pid_stat(5), startstack). */
	uint64_t stack_start;
};

/* Return false, and leave *ret as it is, if the thread is gone. */
bool ow_task_read(pid_t pid, pid_t tid, struct ow_task *ret);

/*
 * Say why a process has no memory to look at: it is a thread of the kernel, or has ended,
 * or is about to.  Return a negative code.
 */
int ow_task_fail_no_memory(pid_t pid, struct ow_error *err);

/*
 * Marks of threads (Linux, include/linux/sched.h, PF_EXITING, PF_IO_WORKER and so on).
 * Workers are threads that the kernel has started in a process for work of its own: they
 * run no code of the program.
 */
enum ow_task_flags {
	OW_TASK_ENDS = 0x4,
	OW_TASK_IO_WORKER = 0x10,
	OW_TASK_USER_WORKER = 0x4000, /* also io_uring's have it */
	OW_TASK_KERNEL = 0x200000,    /* none of any process */
};

/*
 * Return those marks of workers that the running kernel knows: what older kernels have
 * there means something else.
 */
uint32_t ow_task_worker_flags(void);

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

/* Likewise by another clock, as far as that tells of then by what it says now. */
int64_t ow_process_start_by(pid_t pid, clockid_t clock);

/* A number from /proc/PID/status by its key, such as "TracerPid:"; or -1. */
long ow_status_number(pid_t pid, const char *key);

/*
 * The user who answers for a process; -1 if it has ended.  That is the owner of the
 * outermost user namespace that the process is in, below ours (user_namespaces(7)): a user
 * may have 65,536 numbers in it (newuidmap(1)).  Where it is in ours, or root has made
 * that namespace, as a container engine does, it is the process's real user.  Of a
 * subordinate id it is the user who has the id (subuids.h).  -1 and ETIMEDOUT: the kernel
 * does not answer about the process.
 */
long ow_process_user(pid_t pid);

/* An owner for what is made of what the process has; nobody knows whose, where it has ended. */
struct ow_owner ow_process_owner(pid_t pid);

/*
 * What a thread does, as proc_pid_status(5) has it by a letter; 0: it is gone.  Other than
 * for its stat, nobody waits for that while its process executes another program.
 */
char ow_status_state(pid_t tid);

#endif /* OW_PROCFS_H */
