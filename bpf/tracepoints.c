// SPDX-License-Identifier: BSD-2-Clause
#include "tracepoints.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "error.h"

#define PLACE "/sys/kernel/tracing"

/* Linux, include/uapi/linux/mount.h, and system calls of 5.2. */
#define CMD_CREATE   6
#define NR_FSOPEN    430
#define NR_FSCONFIG  431
#define NR_FSMOUNT   432
#define CLOSE_ONEXEC 1

/* A file system's root that is mounted nowhere; or -1. */
static int mount_own(void)
{
	_cleanup_(ow_closep) int fs =
		(int)syscall(NR_FSOPEN, "tracefs", CLOSE_ONEXEC);

	if (fs < 0 || syscall(NR_FSCONFIG, fs, CMD_CREATE, NULL, NULL, 0))
		return -1;
	return (int)syscall(NR_FSMOUNT, fs, CLOSE_ONEXEC, 0);
}

static uint64_t read_id(int root, const char *name)
{
	_cleanup_(ow_closep) int fd = -1;
	char path[128], text[32];
	ssize_t size;

	snprintf(path, sizeof(path), "events/%s/id", name);
	fd = openat(root, path, O_RDONLY | O_CLOEXEC);
	size = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (size <= 0)
		return 0;
	text[size] = '\0';
	return strtoull(text, NULL, 10);
}

uint64_t ow_tracepoint_id(const char *name)
{
	_cleanup_(ow_closep) int root =
		open(PLACE, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	_cleanup_(ow_closep) int own = -1;
	uint64_t id = root < 0 ? 0 : read_id(root, name);

	if (id)
		return id;
	own = mount_own();
	return own < 0 ? 0 : read_id(own, name);
}
