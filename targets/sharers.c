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

#define LOOK_NS 100000000
#define PAUSES  50 /* as long as a look */

static _Atomic uint64_t due_ns; /* of CLOCK_MONOTONIC */

/* kcmp(2) waits for a process that executes a file. */
static bool shares(pid_t pid, pid_t tid)
{
	long differs;

	ow_delegate_enter();
	differs = syscall(SYS_kcmp, pid, tid, KCMP_VM, 0, 0);
	ow_delegate_leave();
	return differs == 0;
}

bool ow_sharers_exist(pid_t pid, pid_t tid)
{
	uint64_t begun = ow_now_ns(), until = begun + LOOK_NS;
	/* It may be known by the id of any of its threads. */
	long leader = ow_status_number(pid, "Tgid:");
	DIR *dir = opendir("/proc");
	struct dirent *entry;
	bool found = false;
	pid_t other;

	while (dir && !found && (entry = readdir(dir))) {
		other = atoi(entry->d_name);
		if (other > 0 && other != pid && other != leader)
			found = shares(other, tid) || ow_now_ns() > until;
	}
	if (dir)
		closedir(dir);
	due_ns = ow_now_ns() + PAUSES * (ow_now_ns() - begun);
	return found;
}

bool ow_sharers_are_due(void)
{
	return ow_now_ns() >= due_ns;
}
