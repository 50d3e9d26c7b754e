// SPDX-License-Identifier: BSD-2-Clause
/* The file of an object: opened without doing anything else, and read. */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "error.h"
#include "leftout.h"
#include "object.h"

#define HIGHEST_KEPT 255 /* of fds: others may need some */
#define READS_BY_FD  8
#define SMALL        4096 /* what is larger has more to copy than a fault costs */

/*
 * What was looked at, whatever its name means by now.  A lease (fcntl(2)) would
 * have the open wait for up to /proc/sys/fs/lease-break-time, 45 s: it fails.
 */
static int reopen(int look)
{
	char self[32];

	snprintf(self, sizeof(self), "/proc/self/fd/%d", look);
	return open(self, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
}

int ow_reopen_regular(int look, uint64_t inode)
{
	struct stat st;

	if (fstat(look, &st))
		return -1;
	if (S_ISREG(st.st_mode) && (!inode || st.st_ino == inode))
		return reopen(look);
	errno = EINVAL;
	return -1;
}

int ow_open_inode(const char *path, uint64_t inode)
{
	_cleanup_(ow_closep) int look = open(path, O_PATH | O_CLOEXEC);

	return look < 0 ? -1 : ow_reopen_regular(look, inode);
}

static bool is_file(const struct stat *st, uint64_t dev, uint64_t inode)
{
	return S_ISREG(st->st_mode) && st->st_dev == dev && st->st_ino == inode;
}

/* What was looked at, by a name that leads over no link (openat2(2)). */
static int open_name(const char *path)
{
	const struct open_how how = {
		.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY,
		.resolve = RESOLVE_NO_SYMLINKS,
	};

	return (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));
}

/* As safely as can be, whatever the name leads to and over what. */
static int look_and_open(const char *path, uint64_t dev, uint64_t inode)
{
	_cleanup_(ow_closep) int look = open(path, O_PATH | O_CLOEXEC);
	struct stat st;

	if (look < 0 || fstat(look, &st))
		return -1;
	if (is_file(&st, dev, inode))
		return reopen(look);
	errno = EINVAL;
	return -1;
}

/*
 * Half as long as by an fd with O_PATH.  The name may mean another file by the
 * time that it is opened, and is refused then: as it leads over no link, who may
 * make devices has to have made it one.
 */
int ow_open_file(const char *path, uint64_t dev, uint64_t inode)
{
	struct stat st;
	int fd;

	if (stat(path, &st))
		return -1;
	if (!is_file(&st, dev, inode)) {
		errno = EINVAL;
		return -1;
	}
	fd = open_name(path);
	if (fd < 0) /* over a link, by a kernel before 5.6, not permitted */
		return look_and_open(path, dev, inode);
	if (fstat(fd, &st) == 0 && is_file(&st, dev, inode))
		return fd;
	close(fd);
	errno = EINVAL;
	return -1;
}

int ow_open_regular(const char *path)
{
	return ow_open_inode(path, 0);
}

int ow_fail_open(struct ow_error *err, const char *path, const char *isnt)
{
	switch (errno) {
	case ENOENT:
	case ENOTDIR:
		return ow_fail(err, OW_CODE_ABSENT, "%s: no such file", path);
	case EINVAL: return ow_fail(err, OW_CODE_FORMAT, "%s: %s", path, isnt);
	case EWOULDBLOCK:
		if (!err)
			ow_lose_file(path, OW_LOST_LEASED);
		return ow_fail(err, OW_CODE_ABSENT, "%s: " OW_LOST_LEASED,
			       path);
	}
	return ow_fail(err, OW_CODE_SYSTEM, "open %s", path);
}

bool ow_object_keep_fd(struct ow_object *obj, int fd)
{
	if (fd > HIGHEST_KEPT)
		return false;
	obj->fd = fd;
	obj->reads_left = READS_BY_FD;
	return true;
}

void ow_object_drop_fd(struct ow_object *obj)
{
	if (obj->fd >= 0)
		close(obj->fd);
	obj->fd = -1;
}

void ow_object_read(struct ow_object *obj, const uint8_t *at, void *buf,
		    size_t size)
{
	bool by_fd = obj->fd >= 0 && size <= SMALL;
	ssize_t n = by_fd ? pread(obj->fd, buf, size, at - obj->bytes) : 0;

	if (by_fd && --obj->reads_left == 0)
		ow_object_drop_fd(obj);
	if (n < 0 || (size_t)n != size)
		memcpy(buf, at, size);
}
