/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Work that may never end, done by a process that can be given up on.
 *
 * A read of a process's memory waits for what has the page: the process itself
 * (userfaultfd(2)), the server of a FUSE file system, a server elsewhere.  Only
 * SIGKILL ends such a wait, and none of a request that a FUSE server has begun
 * with (Linux, fs/fuse/dev.c, request_wait_answer()).  A thread can't be killed
 * alone.  So such work is done by a delegate: a process that shares our memory
 * (clone(2), CLONE_VM), while the caller does nothing but wait for it.  A delegate
 * may give work to one of its own.
 *
 * A delegate has none of our files open, where the kernel can close them all at once
 * (Linux 5.9): nobody is to wait for the end of a pipe that a lost one has.  What it
 * opens is closed as it ends.  Or it has all of them (OW_DELEGATE_ALL_FILES).
 */
#ifndef OW_DELEGATE_H
#define OW_DELEGATE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct ow_error;

enum ow_delegation {
	OW_DELEGATION_DONE,
	/* A call took too long, or a signal came that ends us: the delegate is
	   gone, and with it what it held by ptrace. */
	OW_DELEGATION_GIVEN_UP,
	/* Likewise, but not even SIGKILL has ended that call yet: memory that the
	   call may still write to must never be freed or used again. */
	OW_DELEGATION_LOST,
	OW_DELEGATION_NONE, /* no process could be started: errno says why */
};

/*
 * It has all of our open files, and what it opens is ours, also if it is given up on: for
 * calls alone that SIGKILL ends.
 */
#define OW_DELEGATE_ALL_FILES (-1)

/*
 * How long a delegate may wait in one call, and until when in any.  One that waits
 * for nothing but a CPU may take ten times as long for a call.
 */
struct ow_delegate_limits {
	uint64_t call_ns;
	uint64_t until_ns; /* of CLOCK_MONOTONIC */
	int kept; /* of our open files, which it has, too; 0: none; or: */
};

/*
 * Have run(arg) done by a delegate.  All signals are blocked meanwhile, in the
 * caller's thread and in the delegate.  A delegate is given up on only while it
 * waits (ow_delegate_enter()), where it holds no lock.  *pid_ret, which may be
 * NULL, is the delegate's process id.  If a signal ends a delegate that we have not
 * given up on, it ends us.
 */
enum ow_delegation ow_delegate_run(void (*run)(void *arg), void *arg,
				   const struct ow_delegate_limits *limits,
				   pid_t *pid_ret);

/*
 * Fail as no process could be started, for the reason that errno is after
 * OW_DELEGATION_NONE: "can't start a process: " and that.
 */
int ow_delegate_fail(struct ow_error *err);

/*
 * Around a system call that may wait without end: from here on the delegate that
 * calls may be given up on.  Both do nothing in any other process; errno stays.
 */
void ow_delegate_enter(void);
void ow_delegate_leave(void);

/*
 * End the program with a status, if a delegate is lost that may wait for ever: it shares
 * the program's memory, so what is large of that is given back before.  Return if
 * none is lost.
 */
void ow_delegate_exit(int status);

/* Return true if it is a delegate that calls. */
bool ow_delegate_is_one(void);

/* Return true if a signal has come that ends us or the process we work for. */
bool ow_delegate_must_end(void);

#endif /* OW_DELEGATE_H */
