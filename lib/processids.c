// SPDX-License-Identifier: BSD-2-Clause
#include "processids.h"

#include <stdint.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "delegate.h"
#include "error.h"

/* What <linux/pidfd.h> of Debian 12 lacks (Linux 6.13). */
struct pidfd_info {
	uint64_t mask, cgroup;
	uint32_t pid, tgid, ppid, ruid, rgid, euid;
	uint32_t others[6];
};

#define GET_INFO  _IOWR(0xff, 11, struct pidfd_info)
#define HAS_CREDS 2

static bool read_by_pidfd(pid_t pid, struct ow_processids *ret)
{
	struct pidfd_info info = { .mask = HAS_CREDS };
	_cleanup_(ow_closep) int fd = (int)syscall(SYS_pidfd_open, pid, 0);

	if (fd < 0 || ioctl(fd, GET_INFO, &info) || !(info.mask & HAS_CREDS))
		return false;
	*ret = (struct ow_processids){ info.ruid, info.euid };
	return true;
}

/* As stat(2), and a delegate may be given up on meanwhile. */
static int look_at(const char *path, struct stat *ret)
{
	int failed;

	ow_delegate_enter();
	failed = stat(path, ret);
	ow_delegate_leave();
	return failed;
}

/*
 * The owner of the process's folder is its effective user, or root where the process may
 * not be looked at by its user, as of a set-user-ID program (proc(5)).
 */
static bool read_by_folder(pid_t pid, struct ow_processids *ret)
{
	struct stat st;
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d", pid);
	if (look_at(path, &st) || st.st_uid == 0)
		return false;
	*ret = (struct ow_processids){ st.st_uid, st.st_uid };
	return true;
}

bool ow_processids_read(pid_t pid, struct ow_processids *ret)
{
	return read_by_pidfd(pid, ret) || read_by_folder(pid, ret);
}

bool ow_processids_is_near(pid_t pid)
{
	struct stat ours, its;
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/ns/pid", pid);
	return !stat("/proc/self/ns/pid", &ours) && !look_at(path, &its) &&
	       ours.st_dev == its.st_dev && ours.st_ino == its.st_ino;
}
