// SPDX-License-Identifier: BSD-2-Clause
#include "perfplace.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "error.h"

/* What /proc tells of the process. */
static bool read_owner(struct ow_perfplace *p)
{
	_cleanup_(ow_freep) char *line = NULL;
	bool has_uid = false;
	char path[64];
	size_t size = 0;
	unsigned int uid;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", p->pid);
	f = fopen(path, "re");
	if (!f)
		return false;
	p->inner = p->pid;
	while (getline(&line, &size, f) > 0) {
		if (sscanf(line, "Uid: %*u %u", &uid) == 1) {
			p->uid = uid;
			has_uid = true;
		} else if (strncmp(line, "NSpid:", 6) == 0) {
			p->inner = (pid_t)atoi(strrchr(line, '\t'));
		}
	}
	fclose(f);
	return has_uid;
}

bool ow_perfplace_init(struct ow_perfplace *p, pid_t pid)
{
	char path[64];

	*p = (struct ow_perfplace){ .tmp = -1, .pid = pid };
	if (pid <= 0 || !read_owner(p))
		return false;
	snprintf(path, sizeof(path), "/proc/%d/root/tmp", pid);
	p->tmp = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return true;
}

/* Others can make files and links in /tmp, too. */
static int open_owned(int dir, const char *path, uid_t uid)
{
	int fd = openat(dir, path,
			O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK |
				O_NOCTTY);
	struct stat st;

	if (fd < 0 || (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
		       (st.st_uid == uid || st.st_uid == 0)))
		return fd;
	close(fd);
	return -1;
}

int ow_perfplace_open(const struct ow_perfplace *p, char *path)
{
	char name[32];
	int fd = -1;

	snprintf(name, sizeof(name), "perf-%d.map", p->inner);
	snprintf(path, OW_PERFPLACE_PATH, "/proc/%d/root/tmp/%s", p->pid, name);
	if (p->tmp >= 0)
		fd = open_owned(p->tmp, name, p->uid);
	if (fd >= 0)
		return fd;
	snprintf(path, OW_PERFPLACE_PATH, "/tmp/perf-%d.map", p->pid);
	return open_owned(AT_FDCWD, path, p->uid);
}

void ow_perfplace_deinit(struct ow_perfplace *p)
{
	ow_closep(&p->tmp);
	p->tmp = -1;
}
