// SPDX-License-Identifier: BSD-2-Clause
#include "ownfile.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The folder that path is in. */
static bool stat_folder(const char *path, struct stat *ret)
{
	const char *slash = strrchr(path, '/');
	char dir[PATH_MAX];

	if (!slash)
		return stat(".", ret) == 0;
	if ((size_t)(slash - path) >= sizeof(dir))
		return false;
	snprintf(dir, sizeof(dir), "%.*s",
		 slash == path ? 1 : (int)(slash - path), path);
	return stat(dir, ret) == 0;
}

static bool is_open_to_all(const struct stat *dir)
{
	return dir->st_mode & S_ISVTX && dir->st_mode & (S_IWOTH | S_IWGRP);
}

static bool is_anothers(const struct stat *st, const struct stat *dir)
{
	return st->st_uid != geteuid() && st->st_uid != 0 &&
	       st->st_uid != dir->st_uid;
}

bool ownfile_is_others(const char *path)
{
	struct stat st, dir;

	return stat_folder(path, &dir) && is_open_to_all(&dir) &&
	       lstat(path, &st) == 0 && is_anothers(&st, &dir);
}

/* There by now may be what was not there when it was looked for. */
static int create_there(const char *path, const struct stat *dir)
{
	int fd = open(path,
		      O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY |
			      O_CLOEXEC,
		      0666);
	struct stat st;

	if (fd < 0) {
		errno = errno == ELOOP ? EPERM : errno;
		return -1;
	}
	if (fstat(fd, &st) || is_anothers(&st, dir) || st.st_nlink > 1) {
		close(fd);
		errno = EPERM;
		return -1;
	}
	if (!S_ISREG(st.st_mode) ||
	    (ftruncate(fd, 0) == 0 && fcntl(fd, F_SETFL, 0) == 0))
		return fd;
	close(fd);
	return -1;
}

FILE *ownfile_create(const char *path)
{
	struct stat dir;
	FILE *f;
	int fd;

	if (!stat_folder(path, &dir) || !is_open_to_all(&dir))
		return fopen(path, "we");
	fd = create_there(path, &dir);
	if (fd < 0)
		return NULL;
	f = fdopen(fd, "w");
	if (!f)
		close(fd);
	return f;
}
