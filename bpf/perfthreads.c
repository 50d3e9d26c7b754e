// SPDX-License-Identifier: BSD-2-Clause
#include "perfthreads.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

#include "error.h"
#include "grow.h"
#include "leftout.h"
#include "procfs.h"
#include "reach.h"

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

/* List all threads of the process, whose ids are to be freed. */
static int reach_threads(struct ow_perfprocess *p, struct ow_error *err)
{
	struct listing *l = calloc(1, sizeof(*l));
	enum ow_delegation end;
	int failed;

	if (!l)
		return ow_fail(err, OW_CODE_MEMORY, "out of memory");
	l->pid = p->pid;
	end = ow_reach(list_threads, l);
	if (end == OW_DELEGATION_DONE) {
		p->tids = l->tids;
		p->nr = l->nr;
		failed = l->failed;
		if (failed && err)
			*err = l->err;
	} else {
		failed = ow_fail(err, OW_CODE_TIMEOUT,
				 "process %d: the kernel did not answer in "
				 "time",
				 p->pid);
	}
	if (end != OW_DELEGATION_LOST)
		free(l);
	return failed;
}

static bool must_end(const struct ow_perfthreads *t)
{
	return t->asked && *t->asked;
}

/* Threads of processes that take turns, one of each in a round. */
struct turns {
	struct ow_perfthreads *threads;
	struct ow_perfrings *rings;
	struct perf_event_attr *attr;
	size_t nr_opened;
	bool is_full;        /* no descriptor is left */
	struct ow_error why; /* the last thread could not be opened */
};

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
		return p->nr_gone == p->nr ? failed : 0;
	}
	t->is_full = failed == -OW_CODE_SYSTEM && t->nr_opened &&
		     ow_perfrings_is_full(&t->why);
	return t->is_full ? 0 : failed;
}

/* Watch the thread of that place of each process.  *more: there are further ones. */
static int open_round(struct turns *t, size_t place, bool *more)
{
	struct ow_perfprocess *p = t->threads->list;
	int failed = 0;

	*more = false;
	for (; p < t->threads->list + t->threads->nr; p++) {
		if (failed || t->is_full || must_end(t->threads))
			break;
		if (place < p->nr)
			failed = open_thread(t, p, p->tids[place]);
		*more |= place + 1 < p->nr;
	}
	return failed;
}

/* Tell of threads that nothing watches. */
static void leave_out(const struct ow_perfprocess *p)
{
	size_t left = p->nr - p->nr_opened - p->nr_gone;
	char name[32], what[96];

	if (!left)
		return;
	snprintf(name, sizeof(name), "process %d", p->pid);
	snprintf(what, sizeof(what),
		 "%zu of %zu threads, for which no file descriptors are left",
		 left, p->nr);
	ow_leave_out(name, what);
}

static int open_all(struct ow_perfthreads *threads, struct turns *t,
		    struct ow_error *err)
{
	bool more = true;
	int failed = 0;
	size_t i;

	for (i = 0; !failed && i < threads->nr; i++)
		failed = reach_threads(&threads->list[i], err);
	if (failed)
		return failed;
	for (i = 0; !failed && more && !t->is_full && !must_end(threads); i++)
		failed = open_round(t, i, &more);
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
