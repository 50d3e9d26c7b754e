// SPDX-License-Identifier: BSD-2-Clause
#include "sharers.h"

#include <dirent.h>
#include <linux/kcmp.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "delegate.h"
#include "monotonic.h"
#include "procfs.h"
#include "silent.h"

#define LOOK_NS 100000000
#define CALL_NS 25000000
#define PAUSES  50 /* as long as a look */
#define TRIES   3

static _Atomic uint64_t due_ns; /* of CLOCK_MONOTONIC */

/* What a delegate looks for, which may be lost with it. */
struct search {
	pid_t pid, tid;
	long leader;
	uint64_t until;
	_Atomic pid_t at; /* that is asked about */
	bool found;
};

static bool shares(pid_t pid, pid_t tid)
{
	long differs;

	ow_delegate_enter();
	differs = syscall(SYS_kcmp, pid, tid, KCMP_VM, 0, 0);
	ow_delegate_leave();
	return differs == 0;
}

static void search(void *arg)
{
	struct search *s = arg;
	DIR *dir = opendir("/proc");
	struct dirent *entry;

	while (dir && !s->found && (entry = readdir(dir))) {
		s->at = atoi(entry->d_name);
		if (s->at > 0 && s->at != s->pid && s->at != s->leader &&
		    !ow_silent_has(s->at))
			s->found = shares(s->at, s->tid) ||
				   ow_now_ns() > s->until;
	}
	if (dir)
		closedir(dir);
}

/* kcmp(2) waits for a process that executes a file, and that may take for ever. */
static bool look(pid_t pid, pid_t tid, uint64_t until)
{
	const struct ow_delegate_limits limits = { .call_ns = CALL_NS,
						   .until_ns = UINT64_MAX };
	struct search *s = calloc(1, sizeof(*s));
	enum ow_delegation how = OW_DELEGATION_GIVEN_UP;
	bool found;
	int i;

	if (!s)
		return false;
	*s = (struct search){ .pid = pid, .tid = tid, .until = until };
	/* It may be known by the id of any of its threads. */
	s->leader = ow_status_number(pid, "Tgid:");
	for (i = 0; i < TRIES && how == OW_DELEGATION_GIVEN_UP; i++) {
		how = ow_delegate_run(search, s, &limits, NULL);
		if (how == OW_DELEGATION_GIVEN_UP)
			ow_silent_note(s->at);
	}
	if (how == OW_DELEGATION_LOST)
		return false;
	found = how == OW_DELEGATION_DONE && s->found;
	free(s);
	return found;
}

bool ow_sharers_exist(pid_t pid, pid_t tid)
{
	uint64_t begun = ow_now_ns();
	bool found = look(pid, tid, begun + LOOK_NS);

	due_ns = ow_now_ns() + PAUSES * (ow_now_ns() - begun);
	return found;
}

bool ow_sharers_are_due(void)
{
	return ow_now_ns() >= due_ns;
}
