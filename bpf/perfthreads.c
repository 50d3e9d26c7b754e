// SPDX-License-Identifier: BSD-2-Clause
#include "perfthreads.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "delegate.h"
#include "error.h"
#include "grow.h"
#include "leftout.h"
#include "procfs.h"
#include "reach.h"

#define TRIES    16      /* lists of a process's threads, if none lives on */
#define PAUSE_NS 2000000 /* before the second one; more before each later one */

#define CALL_NS 500000000 /* for the kernel to answer about a thread */

#define SILENT "process %d: the kernel did not answer in time"
#define GONE   "its threads, which end before they can be watched"

int ow_perfthreads_add(struct ow_perfthreads *t, pid_t pid,
		       struct ow_error *err)
{
	if (!ow_grow(&t->list, &t->room, t->nr + 1, sizeof(*t->list)))
		return ow_fail(err, OW_CODE_MEMORY, "out of memory");
	t->list[t->nr++] = (struct ow_perfprocess){ .pid = pid };
	return 0;
}

/* What is asked of a delegate, and lost with it. */
struct listing {
	pid_t pid;
	pid_t *tids;
	size_t nr;
	int failed;
	struct ow_error err;
};

static void list_threads(void *arg)
{
	_cleanup_(ow_closep) int dir = -1;
	struct listing *l = arg;
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/task", l->pid);
	dir = ow_reach_open(path, O_RDONLY | O_DIRECTORY);
	l->failed = dir < 0 ? ow_fail(&l->err, OW_CODE_ABSENT,
				      "process %d has exited", l->pid) :
			      ow_tasks_list(dir, &l->tids, &l->nr, &l->err);
}

int ow_perfthreads_list(struct ow_perfprocess *p, struct ow_error *err)
{
	struct listing *l = calloc(1, sizeof(*l));
	enum ow_delegation end;
	int failed;

	if (!l)
		return ow_fail(err, OW_CODE_MEMORY, "out of memory");
	l->pid = p->pid;
	end = ow_reach(list_threads, l);
	if (end == OW_DELEGATION_DONE) {
		free(p->tids);
		p->tids = l->tids;
		p->nr = l->nr;
		failed = l->failed;
		if (failed && err)
			*err = l->err;
	} else if (end == OW_DELEGATION_NONE) {
		failed = ow_delegate_fail(err);
	} else {
		failed = ow_fail(err, OW_CODE_TIMEOUT, SILENT, p->pid);
	}
	if (end != OW_DELEGATION_LOST)
		free(l);
	return failed;
}

/*
 * Leave a process out that has ended, or for which the kernel does not answer; any user's
 * can be so.  Return 0 then, or what why says.
 */
static int leave(struct ow_perfprocess *p, const struct ow_error *why)
{
	if (why->code != OW_CODE_ABSENT && why->code != OW_CODE_TIMEOUT)
		return -why->code;
	p->is_left = true;
	p->why = *why;
	return 0;
}

static bool must_end(const struct ow_perfthreads *t)
{
	return (t->asked && *t->asked) || ow_delegate_must_end();
}

/* Threads of processes that take turns, one of each in a round. */
struct turns {
	struct ow_perfthreads *threads;
	struct ow_perfrings *rings;
	struct perf_event_attr *attr;
	size_t round;
	struct ow_perfprocess *next; /* whose turn it is */
	size_t nr_fds;               /* before that */
	bool more;                   /* there are further threads */
	int failed;
	size_t nr_opened;
	bool is_full;        /* no descriptor is left */
	struct ow_error why; /* the last thread could not be opened */
};

/* Return true if there is no thread, or only the first one, and that has ended. */
static bool has_exited(const struct ow_perfprocess *p)
{
	char name[32], state;

	return p->nr == 0 ||
	       (p->nr == 1 &&
		(!ow_task_stat(p->pid, p->pid, name, sizeof(name), &state) ||
		 state == 'Z' || state == 'X'));
}

/*
 * List the threads of a process anew, of which all have ended before they could be
 * watched: one of them executes a file, or others are made.  None is watched, so none
 * that is new is watched already, as those are that watched ones make.
 */
static int list_anew(struct turns *t, struct ow_perfprocess *p, size_t round)
{
	const struct timespec pause = { 0, (long)p->tries * PAUSE_NS };

	if (p->tries == TRIES) {
		ow_fail(&t->why, OW_CODE_ABSENT, "process %d: " GONE, p->pid);
		return leave(p, &t->why);
	}
	p->tries++;
	clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
	p->nr_gone = 0;
	p->first_round = round + 1;
	if (ow_perfthreads_list(p, &t->why))
		return leave(p, &t->why);
	/* Its parent need not have waited for it yet. */
	if (!has_exited(p))
		return 0;
	ow_fail(&t->why, OW_CODE_ABSENT, "process %d has exited", p->pid);
	return leave(p, &t->why);
}

/* Watch a thread, which may have ended, or have no room: 0, or what why says. */
static int open_thread(struct turns *t, struct ow_perfprocess *p, pid_t tid)
{
	int failed = ow_perfrings_add(t->rings, t->attr, tid, &t->why);

	if (!failed) {
		t->nr_opened++;
		p->nr_opened++;
		return 0;
	}
	if (failed == -OW_CODE_ABSENT) {
		p->nr_gone++;
		return 0;
	}
	t->is_full = failed == -OW_CODE_SYSTEM && t->nr_opened &&
		     ow_perfrings_is_full(&t->why);
	return t->is_full ? 0 : failed;
}

/* Watch the next thread of a process. */
static int open_next(struct turns *t, struct ow_perfprocess *p)
{
	size_t place = t->round - p->first_round;
	int failed = 0;

	if (p->is_left)
		return 0;
	if (place < p->nr)
		failed = open_thread(t, p, p->tids[place]);
	if (!failed && place < p->nr && p->nr_gone == p->nr)
		failed = list_anew(t, p, t->round);
	t->more |= !p->is_left && t->round + 1 < p->first_round + p->nr;
	return failed;
}

static bool is_over(const struct turns *t)
{
	return t->failed || t->is_full || must_end(t->threads);
}

/* Watch the next thread of each process that has not had its turn. */
static void end_round(struct turns *t)
{
	const struct ow_perfthreads *threads = t->threads;

	while (t->next < threads->list + threads->nr && !is_over(t)) {
		t->nr_fds = t->rings->nr_fds;
		t->failed = open_next(t, t->next);
		t->next++;
	}
}

/* What a delegate does, or as much of it as another one has left. */
static void take_turns(void *arg)
{
	struct turns *t = arg;

	end_round(t);
	while (t->more && !is_over(t)) {
		t->round++;
		t->next = t->threads->list;
		t->more = false;
		end_round(t);
	}
}

/* The kernel did not answer about a thread of the process whose turn it is. */
static void leave_silent(struct turns *t)
{
	struct ow_perfprocess *p = t->next++;

	ow_perfrings_drop(t->rings, t->nr_fds);
	ow_fail(&t->why, OW_CODE_TIMEOUT, SILENT, p->pid);
	leave(p, &t->why);
}

/* Watch all threads, until there are no descriptors. */
static int open_threads(struct turns *t)
{
	const struct ow_delegate_limits limits = {
		.call_ns = CALL_NS,
		.until_ns = UINT64_MAX,
		.kept = OW_DELEGATE_ALL_FILES,
	};
	enum ow_delegation end;

	t->next = t->threads->list;
	do {
		end = ow_delegate_run(take_turns, t, &limits, NULL);
		ow_perfrings_keep_limit(t->rings);
		if (end == OW_DELEGATION_NONE)
			return ow_delegate_fail(&t->why);
		if (end != OW_DELEGATION_DONE && !must_end(t->threads))
			leave_silent(t);
	} while (end != OW_DELEGATION_DONE && !must_end(t->threads));
	return t->failed;
}

/* Tell of threads that nothing watches. */
static void leave_out(const struct ow_perfprocess *p)
{
	size_t left = p->nr - p->nr_opened - p->nr_gone;
	char name[32], what[96];

	if (!left || p->is_left)
		return;
	snprintf(name, sizeof(name), "process %d", p->pid);
	snprintf(what, sizeof(what),
		 "%zu of %zu threads, for which no file descriptors are left",
		 left, p->nr);
	ow_leave_out(name, what);
}

/* Tell of processes that nothing watches; fail if these are all. */
static int leave_out_gone(struct turns *t)
{
	struct ow_perfthreads *threads = t->threads;
	const struct ow_perfprocess *p = threads->list;
	size_t nr = 0;

	for (; p < threads->list + threads->nr; p++)
		nr += p->is_left;
	if (nr && nr == threads->nr) {
		t->why = threads->list[nr - 1].why;
		return -t->why.code;
	}
	for (p = threads->list; p < threads->list + threads->nr; p++)
		if (p->is_left)
			ow_leave_out("recording", p->why.msg);
	threads->nr_left += nr;
	return 0;
}

/* List the threads of all processes. */
static int list_all(struct ow_perfthreads *threads, struct ow_error *err)
{
	struct ow_perfprocess *p = threads->list;
	int failed = 0;

	for (; !failed && p < threads->list + threads->nr; p++)
		if (ow_perfthreads_list(p, err))
			failed = leave(p, err);
	return failed;
}

static int open_all(struct ow_perfthreads *threads, struct turns *t,
		    struct ow_error *err)
{
	int failed = list_all(threads, &t->why);
	size_t i;

	if (!failed && threads->nr)
		failed = open_threads(t);
	if (!failed)
		failed = leave_out_gone(t);
	if (failed && err)
		*err = t->why;
	for (i = 0; t->is_full && i < threads->nr; i++)
		leave_out(&threads->list[i]);
	return failed;
}

int ow_perfthreads_open(struct ow_perfthreads *threads,
			struct ow_perfrings *rings,
			struct perf_event_attr *attr, struct ow_error *err)
{
	struct turns t = { threads, rings, attr, .nr_opened = 0 };
	int failed = open_all(threads, &t, err);

	ow_perfthreads_deinit(threads);
	return failed;
}

void ow_perfthreads_deinit(struct ow_perfthreads *t)
{
	while (t->nr)
		free(t->list[--t->nr].tids);
	free(t->list);
	t->list = NULL;
	t->room = 0;
}
