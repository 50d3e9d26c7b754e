// SPDX-License-Identifier: BSD-2-Clause
#include "servedfs.h"

#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "env.h"
#include "error.h"
#include "reach.h"

#define MOST_TEXT ((size_t)64 << 20) /* of mounts */

/*
 * What root mounts of other machines.  What a hypervisor serves (9p, virtiofs) is as
 * near as a disk.
 */
static const char *const remote[] = {
	"nfs", "nfs4",   "cifs",     "smb3", "ceph",
	"afs", "lustre", "orangefs", "coda",
};

/* What lies over other file systems, and asks those. */
static const char *const layered[] = { "overlay", "ecryptfs", "aufs" };

static bool has_name(const char *type, size_t size, const char *name)
{
	return strlen(name) == size && memcmp(type, name, size) == 0;
}

static enum ow_servedfs kind_of(const char *type)
{
	size_t i, size = strcspn(type, " \n");

	if (has_name(type, size, "fuse") ||
	    (size > 5 && memcmp(type, "fuse.", 5) == 0))
		return OW_SERVEDFS_USER;
	for (i = 0; i < OW_ARRAY_SIZE(remote); i++)
		if (has_name(type, size, remote[i]))
			return OW_SERVEDFS_REMOTE;
	for (i = 0; i < OW_ARRAY_SIZE(layered); i++)
		if (has_name(type, size, layered[i]))
			return OW_SERVEDFS_LAYERED;
	return OW_SERVEDFS_LOCAL;
}

/* "ID PARENT MAJOR:MINOR ROOT PLACE OPTIONS [FIELD...] - TYPE SOURCE OPTIONS" */
enum ow_servedfs ow_servedfs_find(const char *mountinfo, uint64_t dev)
{
	const char *line, *end, *type;
	unsigned int major, minor;

	for (line = mountinfo; (end = strchr(line, '\n')); line = end + 1) {
		if (sscanf(line, "%*u %*u %u:%u", &major, &minor) != 2 ||
		    makedev(major, minor) != dev)
			continue;
		type = strstr(line, " - ");
		return type && type < end ? kind_of(type + 3) :
					    OW_SERVEDFS_USER;
	}
	return OW_SERVEDFS_USER;
}

static enum ow_servedfs find_for(const char *pid, uint64_t dev)
{
	_cleanup_(ow_freep) char *text = NULL;
	char path[40];

	snprintf(path, sizeof(path), "/proc/%s/mountinfo", pid);
	text = ow_reach_text(path, MOST_TEXT, NULL);
	return text ? ow_servedfs_find(text, dev) : OW_SERVEDFS_USER;
}

enum ow_servedfs ow_servedfs_of(pid_t pid, uint64_t dev)
{
	enum ow_servedfs found;
	char name[16];

	/* One of a disk has a number of its own. */
	if (major(dev) != 0)
		return OW_SERVEDFS_LOCAL;
	snprintf(name, sizeof(name), "%d", pid);
	found = find_for(name, dev);
	if (found != OW_SERVEDFS_LAYERED)
		return found;
	/* In a user namespace, any user can mount one over FUSE (Linux 5.11). */
	found = find_for("self", dev);
	return found == OW_SERVEDFS_LAYERED ? OW_SERVEDFS_LOCAL :
					      OW_SERVEDFS_USER;
}
