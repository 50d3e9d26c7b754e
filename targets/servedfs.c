// SPDX-License-Identifier: BSD-2-Clause
#include "servedfs.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "env.h"
#include "error.h"
#include "monotonic.h"
#include "procfs.h"
#include "reach.h"
#include "userefforts.h"

#define PART  ((size_t)64 << 10) /* of a list of mounts; no line is longer */
#define NODEV ((dev_t)-1)

/*
 * ns of CPU that a run may take to read lists of mounts: ours, which is long where there
 * are many containers; and for each user those of other mount namespaces, where a user can
 * have 100,000 mounts lie on one another, whose list takes the kernel minutes.  After that,
 * whatever is not known is taken for a server's.
 */
static struct ow_userefforts lists =
	OW_USEREFFORTS_BESIDE(30000000000, 300000000, 1000000000, 20000000);

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

/* NODEV: none.  sscanf(3) would first go to the end of the whole text. */
static dev_t device_of(const char *line)
{
	unsigned int major, minor;
	char begin[64];

	snprintf(begin, sizeof(begin), "%.*s", (int)sizeof(begin) - 1, line);
	return sscanf(begin, "%*u %*u %u:%u", &major, &minor) == 2 ?
		       makedev(major, minor) :
		       NODEV;
}

/* "ID PARENT MAJOR:MINOR ROOT PLACE OPTIONS [FIELD...] - TYPE SOURCE OPTIONS" */
static bool is_of_line(const char *line, const char *end, uint64_t dev,
		       enum ow_servedfs *ret)
{
	const char *type;

	if (device_of(line) != dev)
		return false;
	type = strstr(line, " - ");
	*ret = type && type < end ? kind_of(type + 3) : OW_SERVEDFS_USER;
	return true;
}

/* Look for the device in whole lines; return what comes after these, or after its own. */
static const char *seek(const char *text, uint64_t dev, bool *found,
			enum ow_servedfs *ret)
{
	const char *end;

	*found = false;
	for (; !*found && (end = strchr(text, '\n')); text = end + 1)
		*found = is_of_line(text, end, dev, ret);
	return text;
}

enum ow_servedfs ow_servedfs_find(const char *mountinfo, uint64_t dev)
{
	enum ow_servedfs kind = OW_SERVEDFS_USER;
	bool found;

	seek(mountinfo, dev, &found, &kind);
	return kind;
}

/* A list of mounts that a delegate reads. */
struct search {
	pid_t pid; /* whose list; 0: ours */
	uint64_t dev;
	bool is_found;
	enum ow_servedfs kind;
	char text[PART + 1];
};

/* Read the list until the device is found, or so many ns of CPU time are over. */
static uint64_t read_until(struct search *s, const char *path, uint64_t most_ns)
{
	_cleanup_(ow_reach_closep) int fd = -1;
	uint64_t begun = ow_cpu_ns(), took = 0;
	const char *rest;
	size_t size = 0;
	ssize_t n = 1;

	fd = ow_reach_open(path, O_RDONLY);
	while (fd >= 0 && !s->is_found && size < PART && n > 0 &&
	       took < most_ns) {
		n = ow_reach_read(fd, s->text + size, PART - size);
		size += n > 0 ? (size_t)n : 0;
		s->text[size] = '\0';
		rest = seek(s->text, s->dev, &s->is_found, &s->kind);
		size -= (size_t)(rest - s->text);
		memmove(s->text, rest, size + 1);
		took = ow_cpu_ns() - begun;
	}
	return took;
}

static void read_list(void *arg)
{
	char path[40] = "/proc/self/mountinfo";
	struct search *s = arg;
	uint32_t share = 0;
	uint64_t most_ns;

	if (s->pid) {
		share = ow_process_owner(s->pid).share;
		snprintf(path, sizeof(path), "/proc/%d/mountinfo", s->pid);
	}
	most_ns = ow_userefforts_left(&lists, share);
	if (most_ns)
		ow_userefforts_spend(&lists, share,
				     read_until(s, path, most_ns));
}

/* Return false, and that it is a server's, if the list doesn't tell; pid 0: our list. */
static bool find_for(pid_t pid, uint64_t dev, enum ow_servedfs *ret)
{
	struct search *s = malloc(sizeof(*s));
	enum ow_delegation how;
	bool found = false;

	*ret = OW_SERVEDFS_USER;
	if (!s)
		return false;
	s->pid = pid;
	s->dev = dev;
	s->is_found = false;
	how = ow_reach(read_list, s);
	if (how == OW_DELEGATION_DONE && s->is_found) {
		*ret = s->kind;
		found = true;
	}
	if (how != OW_DELEGATION_LOST)
		free(s);
	return found;
}

enum ow_servedfs ow_servedfs_of(pid_t pid, uint64_t dev)
{
	enum ow_servedfs found;

	/* One of a disk has a number of its own. */
	if (major(dev) != 0)
		return OW_SERVEDFS_LOCAL;
	/* What only root can have mounted lies over what root chose. */
	if (find_for(0, dev, &found))
		return found == OW_SERVEDFS_LAYERED ? OW_SERVEDFS_LOCAL : found;
	find_for(pid, dev, &found);
	/* In a user namespace, any user can mount one over FUSE (Linux 5.11). */
	return found == OW_SERVEDFS_LAYERED ? OW_SERVEDFS_USER : found;
}
