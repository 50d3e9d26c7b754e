/* SPDX-License-Identifier: BSD-2-Clause */
/* Namespaces where a user may mount file systems. */
#ifndef HOSTILE_OWNSPACE_H
#define HOSTILE_OWNSPACE_H

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "threads.h"

static inline void write_to(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		fail(path);
	close(fd);
}

/* Make our user the root of a user namespace, and what is mounted our own. */
static inline void enter_namespaces(void)
{
	char uids[32], gids[32];

	snprintf(uids, sizeof(uids), "0 %u 1", getuid());
	snprintf(gids, sizeof(gids), "0 %u 1", getgid());
	if (unshare(CLONE_NEWUSER | CLONE_NEWNS))
		fail("unshare");
	write_to("/proc/self/setgroups", "deny");
	write_to("/proc/self/uid_map", uids);
	write_to("/proc/self/gid_map", gids);
	if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL))
		fail("private");
}

/* Go down so many new folders, on each of which so many mounts lie. */
static inline void stack_mounts(long levels, long stacked)
{
	long i, j;

	for (i = 0; i < levels; i++) {
		if (mkdir("d", 0755))
			fail("mkdir");
		for (j = 0; j < stacked; j++)
			if (mount("d", "d", NULL, MS_BIND, NULL))
				fail("mount");
		if (chdir("d"))
			fail("chdir");
	}
}

#endif /* HOSTILE_OWNSPACE_H */
