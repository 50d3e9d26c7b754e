// SPDX-License-Identifier: BSD-2-Clause
/* The file of an object: opened without doing anything else, and read. */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "budget.h"
#include "error.h"
#include "filemap.h"
#include "leftout.h"
#include "object.h"
#include "reach.h"

/* What <linux/magic.h> of Debian 12 lacks. */
#define BCACHEFS_MAGIC 0xca451a4e

#define HIGHEST_KEPT 255 /* of fds: others may need some */
#define READS_BY_FD  8
#define COPIED_MAX   ((off_t)256 << 20) /* bytes of a file that a server has */
#define COPIED_PART  ((size_t)1 << 20)
#define SMALL        4096 /* what is larger has more to copy than a fault costs */

/*
 * What was looked at, whatever its name means by now.  A lease (fcntl(2)) would
 * have the open wait for up to /proc/sys/fs/lease-break-time, 45 s: it fails.
 */
static int reopen(int look)
{
	char self[32];
	int fd;

	snprintf(self, sizeof(self), "/proc/self/fd/%d", look);
	fd = ow_reach_open(self, O_RDONLY | O_NONBLOCK);
	if (fd < 0 && errno == EWOULDBLOCK)
		errno = OW_LEASED;
	return fd;
}

/* The magic number of the file system that fd's file is on. */
static bool read_fs_type(int fd, uint32_t *ret)
{
	struct statfs fs;
	int failed;

	ow_delegate_enter();
	failed = fstatfs(fd, &fs);
	ow_delegate_leave();
	*ret = failed ? 0 : (uint32_t)fs.f_type;
	return !failed;
}

/* Reading a file of the kernel's own may do something, as of /proc/kmsg it does. */
static bool is_kernels(int look)
{
	uint32_t type;

	if (!read_fs_type(look, &type))
		return true;
	switch (type) {
	case PROC_SUPER_MAGIC:
	case SYSFS_MAGIC:
	case DEBUGFS_MAGIC:
	case TRACEFS_MAGIC:
	case SECURITYFS_MAGIC:
	case CGROUP_SUPER_MAGIC:
	case CGROUP2_SUPER_MAGIC: return true;
	}
	return false;
}

static int reopen_regular(int look, bool may_be_kernels)
{
	struct stat st;

	if (ow_reach_stat(look, &st))
		return -1;
	if (S_ISREG(st.st_mode) && (may_be_kernels || !is_kernels(look)))
		return reopen(look);
	errno = EINVAL;
	return -1;
}

int ow_reopen_regular(int look)
{
	return reopen_regular(look, false);
}

/*
 * Return true if stat(2) may tell another device of a file than /proc/PID/maps does,
 * as that of a subvolume or of a layer.
 */
static bool has_several_devs(int look)
{
	uint32_t type;

	return read_fs_type(look, &type) &&
	       (type == BTRFS_SUPER_MAGIC || type == OVERLAYFS_SUPER_MAGIC ||
		type == BCACHEFS_MAGIC);
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
	int fd;

	ow_delegate_enter();
	fd = (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));
	ow_delegate_leave();
	return fd;
}

/*
 * As safely as can be, whatever the name leads to and over what.  is_listed: the device
 * is that of a list of mappings, which stat(2) need not tell.
 */
static int look_and_open(const char *path, uint64_t dev, uint64_t inode,
			 bool is_listed)
{
	_cleanup_(ow_reach_closep) int look = ow_reach_open(path, O_PATH);
	struct stat st;

	if (look < 0 || ow_reach_stat(look, &st))
		return -1;
	if (is_file(&st, dev, inode) ||
	    (is_listed && is_file(&st, st.st_dev, inode) &&
	     has_several_devs(look)))
		return reopen(look);
	errno = EINVAL;
	return -1;
}

int ow_open_listed(const char *path, uint64_t dev, uint64_t inode)
{
	return look_and_open(path, dev, inode, true);
}

/*
 * Half as long as by an fd with O_PATH.  The name may mean another file by the
 * time that it is opened, and is refused then: as it leads over no link, who may
 * make devices has to have made it one.
 */
int ow_open_file(const char *path, uint64_t dev, uint64_t inode)
{
	struct stat st;
	int fd, failed;

	ow_delegate_enter();
	failed = stat(path, &st);
	ow_delegate_leave();
	if (failed)
		return -1;
	if (!is_file(&st, dev, inode)) {
		errno = EINVAL;
		return -1;
	}
	fd = open_name(path);
	if (fd < 0) /* over a link, by a kernel before 5.6, not permitted */
		return look_and_open(path, dev, inode, false);
	if (ow_reach_stat(fd, &st) == 0 && is_file(&st, dev, inode))
		return fd;
	ow_reach_closep(&fd);
	errno = EINVAL;
	return -1;
}

/* Nobody is asked: neither for the name's parts nor for what is known of the file. */
int ow_open_cached(const char *path, uint64_t dev, uint64_t inode)
{
	const struct open_how how = {
		.flags = O_PATH | O_CLOEXEC,
		.resolve = RESOLVE_CACHED,
	};
	_cleanup_(ow_closep) int look =
		(int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));
	struct statx st;

	if (look < 0 || statx(look, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC,
			      STATX_TYPE | STATX_INO, &st))
		return -1;
	if (S_ISREG(st.stx_mode) && st.stx_ino == inode &&
	    makedev(st.stx_dev_major, st.stx_dev_minor) == dev)
		return reopen(look);
	errno = EINVAL;
	return -1;
}

int ow_open_input(const char *path)
{
	_cleanup_(ow_closep) int look = open(path, O_PATH | O_CLOEXEC);

	return look < 0 ? -1 : reopen_regular(look, true);
}

int ow_open_regular(const char *path)
{
	_cleanup_(ow_reach_closep) int look = ow_reach_open(path, O_PATH);

	return look < 0 ? -1 : ow_reopen_regular(look);
}

/* An fd with O_PATH of what a name below root leads to, over no link of /proc. */
static int look_below(const char *root, const char *path)
{
	const struct open_how how = {
		.flags = O_PATH | O_CLOEXEC,
		.resolve = RESOLVE_NO_MAGICLINKS,
	};
	_cleanup_(ow_reach_closep) int dir = -1;
	int fd;

	if (*root) {
		dir = ow_reach_open(root, O_PATH | O_DIRECTORY);
		if (dir < 0)
			return -1;
		path += strspn(path, "/");
	}
	ow_delegate_enter();
	fd = (int)syscall(SYS_openat2, dir < 0 ? AT_FDCWD : dir, path, &how,
			  sizeof(how));
	ow_delegate_leave();
	/* Before Linux 5.6, or not permitted. */
	if (fd < 0 && (errno == ENOSYS || errno == EPERM))
		fd = ow_reach_openat(dir < 0 ? AT_FDCWD : dir, path, O_PATH);
	return fd;
}

bool ow_is_served(int fd, uint64_t dev)
{
	uint32_t type;

	if (!read_fs_type(fd, &type))
		return true;
	/* A hypervisor's files (virtiofs) have the magic of FUSE, too. */
	return (type == FUSE_SUPER_MAGIC || type == OVERLAYFS_SUPER_MAGIC) &&
	       !ow_identity_is_roots(dev);
}

/* An object of a copy of fd's file, whose memory is taken from the budget. */
static struct ow_object *copy_file(int fd, size_t size, const char *path,
				   struct ow_error *err)
{
	struct ow_owner own = ow_owner_of((uid_t)-1);
	size_t got = 0;
	uint8_t *bytes = NULL;
	ssize_t n = 1;

	if (ow_owner_take(&own, size))
		bytes = malloc(size);
	else
		ow_budget_refuse(path, "a copy of it");
	while (bytes && got < size && n > 0) {
		n = ow_reach_read(fd, bytes + got,
				  size - got < COPIED_PART ? size - got :
							     COPIED_PART);
		got += n > 0 ? (size_t)n : 0;
	}
	if (bytes && got == size)
		return ow_object_from_image(bytes, size, own, path, err);
	ow_owner_give(&own, own.bytes);
	free(bytes);
	ow_fail(err, OW_CODE_ABSENT, "%s: can't be copied", path);
	return NULL;
}

struct ow_object *ow_object_take_fd(int fd, const char *path,
				    struct ow_error *err)
{
	struct stat st;

	if (ow_reach_stat(fd, &st)) {
		ow_fail(err, OW_CODE_SYSTEM, "stat %s", path);
		return NULL;
	}
	if (!ow_is_served(fd, st.st_dev) && !ow_filemap_is_huge(fd))
		return ow_object_open_fd(fd, path, err);
	if (st.st_size > 0 && st.st_size <= COPIED_MAX)
		return copy_file(fd, (size_t)st.st_size, path, err);
	ow_fail(err, OW_CODE_UNSUPPORTED, "%s: too large for a copy", path);
	return NULL;
}

struct ow_object *ow_object_reach(const char *root, const char *path)
{
	_cleanup_(ow_reach_closep) int look = look_below(root, path);
	_cleanup_(ow_reach_closep) int fd = -1;
	_cleanup_(ow_freep) char *full = NULL;

	if (asprintf(&full, "%s%s", root, path) < 0) {
		full = NULL;
		return NULL;
	}
	fd = look < 0 ? -1 : ow_reopen_regular(look);
	if (fd < 0 && errno == OW_LEASED)
		ow_lose_file(full, OW_LOST_LEASED);
	return fd < 0 ? NULL : ow_object_take_fd(fd, full, NULL);
}

int ow_fail_open(struct ow_error *err, const char *path, const char *isnt)
{
	switch (errno) {
	case ENOENT:
	case ENOTDIR:
		return ow_fail(err, OW_CODE_ABSENT, "%s: no such file", path);
	case ETIMEDOUT:
		return ow_fail(err, OW_CODE_ABSENT,
			       "%s: what serves it did not answer in time",
			       path);
	case EINVAL: return ow_fail(err, OW_CODE_FORMAT, "%s: %s", path, isnt);
	case OW_LEASED:
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
