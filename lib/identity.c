// SPDX-License-Identifier: BSD-2-Clause
#include "identity.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "effort.h"
#include "grow.h"
#include "monotonic.h"

/* What <linux/magic.h> of Debian 12 lacks. */
#define BCACHEFS_MAGIC 0xca451a4e
#define ZFS_MAGIC      0x2fc12fc1

#define KNOWN_NS \
	1000000000 /* so long, what a list of mounts lacks is not there */
#define NO_DEVICE 0

static int64_t nanoseconds(const struct statx_timestamp *t)
{
	return t->tv_sec * INT64_C(1000000000) + t->tv_nsec;
}

static bool look_at(int dir, const char *path, int flags,
		    struct ow_identity *ret)
{
	struct statx st;

	if (statx(dir, path, flags | AT_STATX_DONT_SYNC, STATX_BASIC_STATS,
		  &st))
		return false;
	*ret = (struct ow_identity){
		.dev = makedev(st.stx_dev_major, st.stx_dev_minor),
		.inode = st.stx_ino,
		.size = st.stx_size,
		.mtime_ns = nanoseconds(&st.stx_mtime),
		.ctime_ns = nanoseconds(&st.stx_ctime),
		.uid = st.stx_uid,
		.gid = st.stx_gid,
		.mode = st.stx_mode,
		.is_unlinked = st.stx_nlink == 0,
	};
	return true;
}

/* A user's own group has no other members, as a rule, and his umask may be 002. */
static bool is_own_group(const struct ow_identity *file)
{
	return geteuid() != 0 && file->uid == geteuid() &&
	       file->gid == getegid();
}

bool ow_identity_is_ours(const struct ow_identity *file)
{
	return (file->uid == 0 || file->uid == geteuid()) &&
	       !(file->mode & S_IWOTH) &&
	       (!(file->mode & S_IWGRP) || is_own_group(file));
}

bool ow_identity_look(const char *path, struct ow_identity *ret)
{
	return look_at(AT_FDCWD, path, 0, ret);
}

static bool look_cached(int dir, const char *path, uint64_t resolve,
			struct ow_identity *ret)
{
	const struct open_how how = {
		.flags = O_PATH | O_CLOEXEC,
		.resolve = RESOLVE_CACHED | resolve,
	};
	int fd = (int)syscall(SYS_openat2, dir, path, &how, sizeof(how));
	bool found = fd >= 0 && look_at(fd, "", AT_EMPTY_PATH, ret);

	if (fd >= 0)
		close(fd);
	return found;
}

bool ow_identity_look_cached(const char *path, struct ow_identity *ret)
{
	return look_cached(AT_FDCWD, path, 0, ret);
}

bool ow_identity_look_below(int root, const char *path, struct ow_identity *ret)
{
	return look_cached(root, path, RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS,
			   ret);
}

/* Return true if users may mount what has these options, other than tmpfs. */
static bool is_for_users(const char *options)
{
	/* As udisks and fusermount mount what users bring along. */
	return strstr(options, "nosuid") && strstr(options, "nodev");
}

/* Devices of file systems that only root can have mounted. */
struct devices {
	uint64_t *all;
	size_t nr, room;
	uint64_t read_ns; /* CLOCK_MONOTONIC; 0: not yet */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct devices roots; /* as mounts were last read to the end */

/* ns of CPU that the list may take a run to read where it was read within a second. */
static struct ow_effort readings = OW_EFFORT(20000000, 10000000);

/* "ID PARENT MAJOR:MINOR ROOT PLACE OPTIONS ... - TYPE ..." */
static bool is_roots_mount(const char *line, uint64_t *dev_ret)
{
	const char *end = strstr(line, " - ");
	unsigned int major, minor;
	char options[256], type[32];

	if (!end ||
	    sscanf(line, "%*d %*d %u:%u %*s %*s %255s", &major, &minor,
		   options) != 3 ||
	    sscanf(end, " - %31s", type) != 1)
		return false;
	*dev_ret = makedev(major, minor);
	return strncmp(type, "fuse", 4) != 0 &&
	       (strcmp(type, "tmpfs") == 0 || !is_for_users(options));
}

static void add_device(struct devices *d, uint64_t dev)
{
	/* The last one is listed often, as it is bound elsewhere. */
	if (d->nr && d->all[d->nr - 1] == dev)
		return;
	if (ow_grow(&d->all, &d->room, d->nr + 1, sizeof(*d->all)))
		d->all[d->nr++] = dev;
}

static bool has_device(const struct devices *d, uint64_t dev)
{
	for (size_t i = 0; i < d->nr; i++)
		if (d->all[i] == dev)
			return true;
	return false;
}

/* Fill d with the devices, up to one that is wanted.  Return true if it is there. */
static bool read_devices(struct devices *d, uint64_t wanted)
{
	/* proc_pid_mountinfo(5) */
	FILE *in = fopen("/proc/self/mountinfo", "re");
	char *line = NULL;
	size_t room = 0;
	bool found = false;
	uint64_t dev;

	while (in && !found && getline(&line, &room, in) > 0) {
		if (!is_roots_mount(line, &dev))
			continue;
		add_device(d, dev);
		found = dev == wanted;
	}
	free(line);
	if (in)
		fclose(in);
	return found;
}

/* Read mounts up to the device's, or all of them, and keep what all are. */
static bool read_again(uint64_t dev, bool all)
{
	struct devices d = { .read_ns = ow_now_ns() };
	uint64_t begun = ow_cpu_ns();
	bool found = read_devices(&d, all ? NO_DEVICE : dev);

	ow_effort_spend(&readings, ow_cpu_ns() - begun);
	if (found) {
		free(d.all);
		return true;
	}
	free(roots.all);
	roots = d;
	return has_device(&roots, dev);
}

/*
 * Any user can make the list of mounts long.  So where it has taken much time, a device that
 * it did not have a moment ago is taken not to be there yet; one that it had has to be there
 * still, unless it may be gone: its number may be another file system's.
 */
static bool find_device(uint64_t dev, bool may_be_gone)
{
	struct devices d = { .nr = 0 };
	bool found = false, is_fresh;

	/* A child process may have been made while another thread was here. */
	if (pthread_mutex_trylock(&lock)) {
		found = read_devices(&d, dev);
		free(d.all);
		return found;
	}
	is_fresh = roots.read_ns && ow_now_ns() - roots.read_ns < KNOWN_NS;
	found = is_fresh && has_device(&roots, dev);
	if (!is_fresh || (found && !may_be_gone) ||
	    (!found && ow_effort_left(&readings)))
		found = read_again(dev, may_be_gone);
	pthread_mutex_unlock(&lock);
	return found;
}

bool ow_identity_is_roots(uint64_t dev)
{
	return find_device(dev, false);
}

bool ow_identity_was_roots(uint64_t dev)
{
	return find_device(dev, true);
}

bool ow_identity_is_near(uint64_t dev)
{
	return major(dev) != 0 || ow_identity_is_roots(dev);
}

bool ow_identity_is_kept(int fd)
{
	struct statfs fs;
	struct stat st;

	if (fstatfs(fd, &fs) || fstat(fd, &st))
		return false;
	/* As is_for_users() has it. */
	if (fs.f_flags & ST_NOSUID && fs.f_flags & ST_NODEV &&
	    fs.f_type != TMPFS_MAGIC)
		return false;
	switch ((uint32_t)fs.f_type) {
	case EXT4_SUPER_MAGIC:
	case XFS_SUPER_MAGIC:
	case BTRFS_SUPER_MAGIC:
	case F2FS_SUPER_MAGIC:
	case TMPFS_MAGIC:
	case SQUASHFS_MAGIC:
	case EROFS_SUPER_MAGIC_V1:
	case BCACHEFS_MAGIC:
	case ZFS_MAGIC: return true;
	/* Of a user namespace it may lie over what a user's program tells. */
	case OVERLAYFS_SUPER_MAGIC: return ow_identity_is_roots(st.st_dev);
	default: return false;
	}
}
