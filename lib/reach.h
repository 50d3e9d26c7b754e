/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What other processes decide about, reached for without waiting for ever: all files
 * below /proc/PID, and files that a process names or serves.
 *
 * An open or a read of such a file may wait for a FUSE server, or for a process that
 * hangs in execve(2) with the locks that /proc takes.  So a delegate does it
 * (delegate.h).  Within a delegate these functions do their work there; anywhere else
 * they start one, for about 50 us: where there is much to reach, do all of it in one
 * ow_reach().
 */
#ifndef OW_REACH_H
#define OW_REACH_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "delegate.h"

/*
 * Have work(arg) done by a delegate, or here, if we are one.  What it opens is closed
 * when it is done.  A call may take 2 s, and all of the work 20 s, or what is left of
 * the 20 s that all waits of the run for what answers slowly may take, but 2 s.  After
 * OW_DELEGATION_LOST, neither arg nor what it points to may be freed or used again.
 */
enum ow_delegation ow_reach(void (*work)(void *arg), void *arg);

/* As ow_reach(), for work that needs a file that we have open as fd, other than 0. */
enum ow_delegation ow_reach_by(int fd, void (*work)(void *arg), void *arg);

/*
 * Leave out what path names (leftout.h), as ow_reach() ended so: what serves it did not
 * answer in time, or, with the reason in errno, no process could be started.
 */
void ow_reach_leave_out(const char *path, enum ow_delegation end);

/*
 * Have a file opened by a delegate, or here, if we are one: as open_it(arg) returns,
 * -1 with errno; ETIMEDOUT: it does not answer.  Then open_it may be in a system
 * call for ever, and neither it nor what it leaves is ever touched again: no call of
 * it may write to arg.  A kernel without sockets (CONFIG_UNIX) can't pass the file on,
 * and has it opened here, without a limit.
 */
int ow_reach_fd(int (*open_it)(void *arg), void *arg);

/*
 * The content of a file, at most that many bytes and a zero after them; to be freed.
 * NULL, and errno, if it can't be read; ETIMEDOUT: it does not answer; ETIME: to make it
 * takes over 2 s of CPU time, as the kernel may for each line of a file of /proc.
 */
char *ow_reach_text(const char *path, size_t most, size_t *size_ret);

/*
 * The content of a thread's status, likewise.  NULL and ETIME also where such files have
 * taken too much of a run's CPU time: a process may have 65,536 groups, all of which the
 * kernel writes for each read (proc_pid_status(5)).
 */
char *ow_reach_status(const char *path);

/* As readlink(2), but with a zero at the end; ETIMEDOUT: it does not answer. */
ssize_t ow_reach_link(const char *path, char *to, size_t size);

/*
 * For work that a delegate does: as open(2), openat(2) and read(2), and the delegate
 * may be given up on meanwhile.
 */
int ow_reach_open(const char *path, int flags);
int ow_reach_openat(int dir, const char *path, int flags);
ssize_t ow_reach_read(int fd, void *buf, size_t size);

/* Likewise read on until there is no more, or no room; return how much, or -1. */
ssize_t ow_reach_fill(int fd, void *buf, size_t size);

/*
 * As close(2), of *fd if it is not -1, for _cleanup_(): a server is told of that,
 * and may not answer.
 */
void ow_reach_closep(const int *fd);

/* As pread(2) and fstat(2), likewise. */
ssize_t ow_reach_pread(int fd, void *buf, size_t size, off_t off);
int ow_reach_stat(int fd, struct stat *ret);

/* Why a file is left out then. */
#define OW_REACH_SPENT \
	"not asked for, as servers of files have taken too much of the run's time"

/*
 * Return true if what did not answer, or answered slowly, has taken so much of the
 * run's time that no server of files is to be asked any more: any user can bring any
 * number of them.  A call of ow_reach() may take less from then on, too.
 */
bool ow_reach_is_spent(void);

#endif /* OW_REACH_H */
