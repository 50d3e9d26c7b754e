/* SPDX-License-Identifier: BSD-2-Clause */
/* A process in a user namespace that a user has made, with numbers as newuidmap(1) gives. */
#ifndef OW_SUBUID_H
#define OW_SUBUID_H

#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/types.h>
#include <unistd.h>

#include "scratch.h"

#define SUBUID_OWNER 65534  /* who has made the namespace */
#define SUBUID_FIRST 100000 /* the number that 1 in it is outside */

static inline void subuid_map(pid_t pid, const char *map, uid_t owner)
{
	char path[32];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, map);
	f = fopen(path, "we");
	if (!f || fprintf(f, "0 %u 1\n1 %d 65536\n", owner, SUBUID_FIRST) < 0 ||
	    fclose(f))
		abort();
}

/* In the child: make depth namespaces, one in the other, and become user 1 of the first. */
static inline void subuid_enter(uid_t owner, int depth, int made, int mapped)
{
	char c;
	int i;

	if (setresgid(owner, owner, owner) || setresuid(owner, owner, owner))
		_exit(1);
	for (i = 0; i < depth; i++)
		if (unshare(CLONE_NEWUSER) || write(made, "", 1) != 1 ||
		    read(mapped, &c, 1) != 1 || (i == 0 && setresuid(1, 1, 1)))
			_exit(1);
}

/*
 * Start a process that the user owner has put into depth namespaces, of which the
 * outermost has the numbers; it calls run, and must not return from it.  Return its
 * number, or -1 if that is not allowed here.  For root.
 */
static inline pid_t subuid_start(uid_t owner, int depth, void (*run)(void))
{
	int made[2], mapped[2], i;
	pid_t pid;
	char c;

	if (pipe(made) || pipe(mapped))
		abort();
	pid = fork();
	if (pid == 0) {
		close(made[0]);
		close(mapped[1]);
		subuid_enter(owner, depth, made[1], mapped[0]);
		if (write(made[1], "", 1) == 1)
			run();
		_exit(1);
	}
	close(made[1]);
	close(mapped[0]);
	for (i = 0; i <= depth && pid > 0; i++) {
		if (read(made[0], &c, 1) != 1) {
			pid = -1;
			break;
		}
		if (i == 0 && depth > 0) {
			subuid_map(pid, "uid_map", owner);
			subuid_map(pid, "gid_map", owner);
		}
		if (i < depth && write(mapped[1], "", 1) != 1)
			abort();
	}
	close(made[0]);
	close(mapped[1]);
	return pid;
}

static inline bool subuid_bind(const char *name, const char *path)
{
	int fd = open(path, O_RDONLY | O_CREAT | O_CLOEXEC, 0644);

	if (fd >= 0)
		close(fd);
	return mount(name, path, NULL, MS_BIND, NULL) == 0;
}

/*
 * Have texts in place of /etc/subuid and /etc/passwd, for this process and its children
 * alone: they are the files subuid and passwd of the folder that scratch_enter() made.
 * Return false if that is not allowed here.
 */
static inline bool subuid_put(const char *subuids, const char *users)
{
	scratch_write("subuid", subuids);
	scratch_write("passwd", users);
	return unshare(CLONE_NEWNS) == 0 &&
	       mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
	       subuid_bind("subuid", "/etc/subuid") &&
	       subuid_bind("passwd", "/etc/passwd");
}

#endif /* OW_SUBUID_H */
