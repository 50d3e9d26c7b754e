// SPDX-License-Identifier: BSD-2-Clause
#include "ownfile.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#define MOST_LINKS 40 /* as the kernel's */

/* Open the folder that path is in. */
static int open_folder(int base, const char *path)
{
	const char *slash = strrchr(path, '/');
	int flags = O_PATH | O_DIRECTORY | O_CLOEXEC;
	char dir[PATH_MAX];

	if (!slash)
		return openat(base, ".", flags);
	if ((size_t)(slash - path) >= sizeof(dir)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	snprintf(dir, sizeof(dir), "%.*s",
		 slash == path ? 1 : (int)(slash - path), path);
	return openat(base, dir, flags);
}

static bool stat_folder(const char *path, struct stat *ret)
{
	int fd = open_folder(AT_FDCWD, path);
	bool is_good = fd >= 0 && fstat(fd, ret) == 0;

	if (fd >= 0)
		close(fd);
	return is_good;
}

static bool is_ours(uid_t uid)
{
	return uid == geteuid() || uid == 0;
}

/* Return true if others may have put something of that name there. */
static bool is_open_to_others(const struct stat *dir)
{
	if (!is_ours(dir->st_uid) || dir->st_mode & S_IWOTH)
		return true;
	return dir->st_mode & S_ISVTX && dir->st_mode & S_IWGRP;
}

/* A folder's owner may have files written to, but not choose where a link leads. */
static bool is_anothers(const struct stat *st, const struct stat *dir)
{
	return !is_ours(st->st_uid) &&
	       (st->st_uid != dir->st_uid || S_ISLNK(st->st_mode));
}

static bool is_others(const struct stat *st, int folder)
{
	struct stat dir;

	return fstat(folder, &dir) ||
	       (is_open_to_others(&dir) && is_anothers(st, &dir));
}

/* Have f be the name, and the folder, that path has below f's folder. */
static bool move_to(struct ownfile *f, const char *path)
{
	const char *slash = strrchr(path, '/');
	char *name = strdup(slash ? slash + 1 : path);
	int folder = name ? open_folder(f->folder, path) : -1;

	if (folder < 0) {
		free(name);
		return false;
	}
	ownfile_deinit(f);
	f->folder = folder;
	f->name = name;
	return true;
}

/* Where the link at fd leads to.  Links of /proc lead elsewhere than their text says. */
static bool follow(struct ownfile *f, int fd)
{
	char link[PATH_MAX];
	ssize_t n = readlinkat(fd, "", link, sizeof(link) - 1);
	struct statfs fs;

	if (n < 0 || fstatfs(fd, &fs))
		return false;
	link[n] = '\0';
	errno = ELOOP;
	return (uint32_t)fs.f_type != PROC_SUPER_MAGIC && move_to(f, link);
}

/* Look at what has the name.  Return true if it is a link that is to be followed. */
static bool look(struct ownfile *f, bool *is_good)
{
	int fd = openat(f->folder, f->name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	bool is_link = false;

	f->is = (struct stat){ 0 };
	if (fd < 0) {
		*is_good = errno == ENOENT && *f->name;
		errno = *f->name ? errno : EISDIR; /* after a slash */
		return false;
	}
	*is_good = fstat(fd, &f->is) == 0;
	if (*is_good && is_others(&f->is, f->folder)) {
		errno = EPERM;
		*is_good = false;
	}
	if (*is_good && S_ISLNK(f->is.st_mode))
		*is_good = is_link = follow(f, fd);
	close(fd);
	return is_link;
}

bool ownfile_find(struct ownfile *f, const char *path)
{
	bool is_good = true;
	int i;

	*f = (struct ownfile){ .folder = AT_FDCWD };
	errno = ENOENT;
	if (!*path || !move_to(f, path))
		return false;
	for (i = 0; i < MOST_LINKS; i++)
		if (!look(f, &is_good))
			return is_good;
	errno = ELOOP;
	return false;
}

bool ownfile_reserve(struct ownfile *f)
{
	struct stat dir;
	int fd;

	if (f->is.st_mode || fstat(f->folder, &dir) ||
	    !(dir.st_mode & S_ISVTX) || !is_open_to_others(&dir))
		return true;
	fd = openat(f->folder, f->name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
		    0666);
	if (fd < 0)
		return errno == EEXIST;
	f->is_reserved = fstat(fd, &f->is) == 0;
	close(fd);
	return true;
}

void ownfile_unreserve(struct ownfile *f)
{
	struct stat st;

	if (f->is_reserved &&
	    fstatat(f->folder, f->name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	    st.st_dev == f->is.st_dev && st.st_ino == f->is.st_ino)
		unlinkat(f->folder, f->name, 0);
	f->is_reserved = false;
}

void ownfile_deinit(struct ownfile *f)
{
	int before = errno;

	if (f->folder >= 0)
		close(f->folder);
	free(f->name);
	*f = (struct ownfile){ .folder = -1 };
	errno = before;
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

int ownfile_open(const char *path)
{
	struct stat dir;

	if (!stat_folder(path, &dir) || !is_open_to_others(&dir))
		return open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC,
			    0666);
	return create_there(path, &dir);
}

FILE *ownfile_create(const char *path)
{
	int fd = ownfile_open(path);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "w");

	if (!f && fd >= 0)
		close(fd);
	return f;
}
