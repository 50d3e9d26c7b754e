// SPDX-License-Identifier: BSD-2-Clause
#include "tabledir.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "error.h"
#include "ownpath.h"

/* The folder that was found last; as long as its path leads there it is used. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int kept = -1;
static char kept_path[PATH_MAX];

int ow_table_dir(char *buf, size_t size, struct ow_error *err)
{
	char base[PATH_MAX];

	if (!ow_ownpath_caches(base, sizeof(base)) ||
	    (size_t)snprintf(buf, size, "%s/outwind", base) >= size)
		return ow_fail(err, OW_CODE_ABSENT,
			       "no place for tables: set XDG_CACHE_HOME");
	return 0;
}

static bool is_kept(const char *path)
{
	struct stat now, then;

	return kept >= 0 && strcmp(path, kept_path) == 0 &&
	       stat(path, &now) == 0 && fstat(kept, &then) == 0 &&
	       now.st_dev == then.st_dev && now.st_ino == then.st_ino;
}

/* The lock is held. */
static int find(const char *path, bool make)
{
	int fd;

	if (is_kept(path))
		return kept;
	fd = ow_ownpath_open(path, make);
	if (fd < 0)
		return -1;
	ow_closep(&kept);
	kept = fd;
	snprintf(kept_path, sizeof(kept_path), "%s", path);
	return kept;
}

bool ow_tabledir_exists(void)
{
	char path[PATH_MAX];
	bool is_there;

	if (ow_table_dir(path, sizeof(path), NULL))
		return false;
	pthread_mutex_lock(&lock);
	is_there = find(path, false) >= 0;
	pthread_mutex_unlock(&lock);
	return is_there;
}

int ow_tabledir_read(const char *name)
{
	char path[PATH_MAX];
	int fd = -1;

	if (ow_table_dir(path, sizeof(path), NULL))
		return -1;
	pthread_mutex_lock(&lock);
	if (find(path, false) >= 0)
		fd = openat(kept, name,
			    O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW |
				    O_NOCTTY);
	pthread_mutex_unlock(&lock);
	return fd;
}

int ow_tabledir_make(struct ow_error *err)
{
	char path[PATH_MAX];
	int fd = -1;

	if (ow_table_dir(path, sizeof(path), err))
		return -1;
	pthread_mutex_lock(&lock);
	if (find(path, true) >= 0)
		fd = fcntl(kept, F_DUPFD_CLOEXEC, 0);
	pthread_mutex_unlock(&lock);
	if (fd < 0 && errno == EPERM)
		ow_fail(err, OW_CODE_PERMISSION,
			"%s: another user could put tables there: give it, and "
			"the folders above it, to root or yourself alone, or "
			"set XDG_CACHE_HOME",
			path);
	else if (fd < 0)
		ow_fail(err, OW_CODE_SYSTEM, "make %s", path);
	return fd;
}
