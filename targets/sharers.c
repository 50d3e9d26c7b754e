// SPDX-License-Identifier: BSD-2-Clause
#include "sharers.h"

#include <dirent.h>
#include <linux/kcmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "delegate.h"
#include "env.h"
#include "error.h"
#include "grow.h"
#include "monotonic.h"
#include "procfs.h"
#include "reach.h"
#include "silent.h"

#define LISTING_NS 100000000  /* of CPU time, */
#define LOOK_NS    200000000  /* with the comparisons, */
#define MOST_NS    1000000000 /* and of any time */
#define CALL_NS    25000000
#define PAUSES     50 /* as long as a look */
#define TRIES      3
#define MOST_STATM 128
#define ONCE       64 /* processes, before the time is asked for */

static _Atomic uint64_t due_ns; /* of CLOCK_MONOTONIC */

/* What a delegate looks for, which may be lost with it. */
struct search {
	pid_t pid, tid;
	long leader, parent;
	uint64_t until; /* of CLOCK_MONOTONIC */
	/* Of all processes, from the leader's next one on around to it; once is_listed. */
	pid_t *list;
	size_t nr, room, next;
	bool is_listed, is_whole; /* nothing is missing */
	_Atomic pid_t at;         /* that is asked about */
	enum ow_sharing result;
};

/*
 * Return true if a process has memory.  All that have none, as they have ended or are the
 * kernel's, are alike for kcmp(2).
 */
static bool has_memory(pid_t pid)
{
	_cleanup_(ow_freep) char *text = NULL;
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/statm", pid);
	text = ow_reach_text(path, MOST_STATM, NULL);
	return text && strtoul(text, NULL, 10) > 0; /* pages that are mapped */
}

static bool shares(struct search *s, pid_t pid)
{
	long differs;

	if (pid <= 0 || pid == s->pid || pid == s->leader || ow_silent_has(pid))
		return false;
	s->at = pid;
	ow_delegate_enter();
	differs = syscall(SYS_kcmp, pid, s->tid, KCMP_VM, 0, 0);
	ow_delegate_leave();
	return differs == 0 && has_memory(pid);
}

/* The delegate's own CPU time: beside others that compute, any time runs out. */
static bool is_over(const struct search *s, size_t nr, uint64_t most_ns)
{
	return nr % ONCE == 0 &&
	       (ow_now_ns() > s->until || ow_cpu_ns() > most_ns);
}

static int number_order(const void *a, const void *b)
{
	const pid_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Those that it has started have the next numbers as a rule: they come first. */
static void order(struct search *s)
{
	pid_t *turned;
	size_t i = 0;

	qsort(s->list, s->nr, sizeof(*s->list), number_order);
	while (i < s->nr && s->list[i] <= s->leader)
		i++;
	turned = i < s->nr ? malloc(s->nr * sizeof(*turned)) : NULL;
	if (!turned)
		return;
	memcpy(turned, s->list + i, (s->nr - i) * sizeof(*turned));
	memcpy(turned + s->nr - i, s->list, i * sizeof(*turned));
	free(s->list);
	s->list = turned;
}

static void list_processes(struct search *s)
{
	DIR *dir = opendir("/proc");
	struct dirent *entry;

	s->nr = 0;
	s->is_whole = dir;
	while (s->is_whole && (entry = readdir(dir))) {
		s->is_whole = !is_over(s, s->nr, LISTING_NS) &&
			      ow_grow(&s->list, &s->room, s->nr + 1,
				      sizeof(*s->list));
		if (s->is_whole)
			s->list[s->nr++] = atoi(entry->d_name);
	}
	if (dir)
		closedir(dir);
	if (s->nr > 0)
		order(s);
	s->is_listed = true;
}

/* A delegate goes on where one before it was given up on. */
static void search(void *arg)
{
	struct search *s = arg;
	bool found = !s->is_listed && shares(s, (pid_t)s->parent);

	if (!found && !s->is_listed)
		list_processes(s);
	while (!found && s->next < s->nr && !is_over(s, s->next, LOOK_NS))
		found = shares(s, s->list[s->next++]);
	if (found)
		s->result = OW_SHARING_FOUND;
	else if (s->is_whole && s->next == s->nr)
		s->result = OW_SHARING_NONE;
}

/* kcmp(2) waits for a process that executes a file, and that may take for ever. */
static enum ow_sharing look(pid_t pid, pid_t tid, uint64_t until)
{
	const struct ow_delegate_limits limits = { .call_ns = CALL_NS,
						   .until_ns = UINT64_MAX };
	struct search *s = calloc(1, sizeof(*s));
	enum ow_delegation how = OW_DELEGATION_GIVEN_UP;
	enum ow_sharing result;
	int i;

	if (!s)
		return OW_SHARING_UNKNOWN;
	*s = (struct search){ .pid = pid,
			      .tid = tid,
			      .until = until,
			      .result = OW_SHARING_UNKNOWN };
	/* It may be known by the id of any of its threads. */
	s->leader = ow_status_number(pid, "Tgid:");
	s->parent = ow_status_number(pid, "PPid:");
	for (i = 0; i < TRIES && how == OW_DELEGATION_GIVEN_UP; i++) {
		how = ow_delegate_run(search, s, &limits, NULL);
		if (how == OW_DELEGATION_GIVEN_UP)
			ow_silent_note(s->at);
	}
	if (how == OW_DELEGATION_LOST)
		return OW_SHARING_UNKNOWN;
	result = how == OW_DELEGATION_NONE ? OW_SHARING_UNASKED : s->result;
	free(s->list);
	free(s);
	return result;
}

enum ow_sharing ow_sharers_look(pid_t pid, pid_t tid)
{
	uint64_t begun = ow_now_ns();
	enum ow_sharing result = look(pid, tid, begun + MOST_NS);

	due_ns = ow_now_ns() + PAUSES * (ow_now_ns() - begun);
	return result;
}

bool ow_sharers_are_due(void)
{
	return ow_now_ns() >= due_ns;
}
