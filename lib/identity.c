// SPDX-License-Identifier: BSD-2-Clause
#include "identity.h"

#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

/* What <linux/magic.h> of Debian 12 lacks. */
#define BCACHEFS_MAGIC 0xca451a4e
#define ZFS_MAGIC      0x2fc12fc1

/* Return true if a mount of that device is in our own mount namespace. */
static bool is_mounted_here(dev_t dev)
{
	FILE *in = fopen("/proc/self/mountinfo", "re");
	unsigned int major, minor;
	char *line = NULL;
	size_t room = 0;
	bool found = false;

	/* "ID PARENT MAJOR:MINOR ..." (proc_pid_mountinfo(5)) */
	while (in && !found && getline(&line, &room, in) > 0)
		found = sscanf(line, "%*d %*d %u:%u ", &major, &minor) == 2 &&
			makedev(major, minor) == dev;
	free(line);
	if (in)
		fclose(in);
	return found;
}

bool ow_identity_is_kept(int fd)
{
	struct statfs fs;
	struct stat st;

	if (fstatfs(fd, &fs) || fstat(fd, &st))
		return false;
	/* As udisks and fusermount let users mount what they bring along. */
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
	case OVERLAYFS_SUPER_MAGIC: return is_mounted_here(st.st_dev);
	default: return false;
	}
}
