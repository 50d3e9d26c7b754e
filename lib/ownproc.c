// SPDX-License-Identifier: BSD-2-Clause
#include "ownproc.h"

#include <errno.h>
#include <linux/magic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "error.h"

/* Our number there, or 0: there is no /proc, or it lacks us. */
static pid_t number_there(void)
{
	char self[16] = "";

	return readlink("/proc/self", self, sizeof(self) - 1) < 0 ?
		       0 :
		       (pid_t)strtol(self, NULL, 10);
}

bool ow_ownproc_is(void)
{
	int before = errno;
	bool is = number_there() == getpid();

	errno = before;
	return is;
}

/* What is mounted there, if anything, is no procfs. */
static bool is_absent(void)
{
	struct statfs fs;

	if (statfs("/proc", &fs))
		return errno == ENOENT;
	return (uint32_t)fs.f_type != PROC_SUPER_MAGIC;
}

/* A namespace that has ours in it has a number for us, too. */
int ow_ownproc_check(struct ow_error *err)
{
	pid_t there;

	if (ow_ownproc_is())
		return 0;
	if (is_absent())
		return ow_fail(err, OW_CODE_ARGUMENT,
			       "/proc is not mounted (mount -t proc proc "
			       "/proc)");
	there = number_there();
	if (there == 0 && access("/proc/1/stat", F_OK))
		return 0;
	return ow_fail(
		err, OW_CODE_ARGUMENT,
		"/proc is of another PID namespace: mount it anew (mount "
		"-t proc proc /proc; unshare has --mount-proc)");
}
