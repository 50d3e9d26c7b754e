/* SPDX-License-Identifier: BSD-2-Clause */
/* Threads of processes that perf events watch, each by descriptors of its own. */
#ifndef OW_PERFTHREADS_H
#define OW_PERFTHREADS_H

#include "perfring.h"

/* The threads of a process, as they were listed. */
struct ow_perfprocess {
	pid_t pid;
	pid_t *tids;
	size_t nr;
	size_t nr_opened, nr_gone; /* of those that it was their turn */
	size_t first_round;        /* of turns, for which they were listed */
	unsigned int tries;        /* lists of them that were all gone */
	bool is_left;              /* out, and why: */
	struct ow_error why;
};

/* All zero: there are none. */
struct ow_perfthreads {
	struct ow_perfprocess *list;
	size_t nr, room;
	size_t nr_left; /* processes, ever, of which no thread could be watched */
	const volatile int *asked; /* for the end, if not 0; or NULL */
};

/*
 * List all threads that a process has now, in place of those that were listed before:
 * p->tids, to be freed.  Fail if there is no such process, or the kernel does not answer
 * in time.
 */
int ow_perfthreads_list(struct ow_perfprocess *p, struct ow_error *err);

/* One process more, whose threads are to be watched. */
int ow_perfthreads_add(struct ow_perfthreads *t, pid_t pid,
		       struct ow_error *err);

/*
 * Watch the threads that the processes have now, and forget the processes.  All
 * processes get descriptors for a first thread, then for a second one, and so on;
 * where no more are left, the other threads are left out (ow_left_out()).  Threads
 * that end meanwhile are left out, too; where all have ended that were listed, as by
 * execve(2), they are listed anew, and in the end their process is left out, as is one
 * that has ended, or for which the kernel does not answer.  Fail if no process is left.
 */
int ow_perfthreads_open(struct ow_perfthreads *t, struct ow_perfrings *rings,
			struct perf_event_attr *attr, struct ow_error *err);

void ow_perfthreads_deinit(struct ow_perfthreads *t);

#endif /* OW_PERFTHREADS_H */
