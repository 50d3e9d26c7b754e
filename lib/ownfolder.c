// SPDX-License-Identifier: BSD-2-Clause
#include "ownfolder.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#define FOLDER (O_PATH | O_DIRECTORY | O_CLOEXEC)

/* Where a walk has come to, and what is left of the path. */
struct steps {
	int at; /* O_PATH */
	char *text;
	char *left; /* in text */
	unsigned int *links;
};

static bool is_ours(uid_t uid)
{
	return uid == geteuid() || uid == 0;
}

bool ow_ownfolder_is_open(const struct stat *folder)
{
	if (!is_ours(folder->st_uid) || folder->st_mode & S_IWOTH)
		return true;
	return folder->st_mode & S_ISVTX && folder->st_mode & S_IWGRP;
}

bool ow_ownfolder_is_anothers(const struct stat *st, const struct stat *folder)
{
	return !is_ours(st->st_uid) &&
	       (st->st_uid != folder->st_uid || S_ISLNK(st->st_mode));
}

bool ow_ownfolder_has_others(int fd, const struct stat *st)
{
	struct stat folder;

	return fstat(fd, &folder) || (ow_ownfolder_is_open(&folder) &&
				      ow_ownfolder_is_anothers(st, &folder));
}

bool ow_ownfolder_is_magic(int fd)
{
	struct statfs fs;

	return fstatfs(fd, &fs) == 0 && (uint32_t)fs.f_type == PROC_SUPER_MAGIC;
}

/* Go on from the folder at fd, if that is one. */
static bool move_to(struct steps *s, int fd)
{
	if (fd < 0)
		return false;
	close(s->at);
	s->at = fd;
	return true;
}

/* What the link at fd says comes before what is left. */
static bool follow(struct steps *s, int fd)
{
	char link[PATH_MAX], *text;
	ssize_t n = readlinkat(fd, "", link, sizeof(link) - 1);

	if (n < 0)
		return false;
	link[n] = '\0';
	if (asprintf(&text, "%s/%s", link, s->left) < 0) {
		errno = ENOMEM;
		return false;
	}
	free(s->text);
	s->text = text;
	s->left = text + strspn(text, "/");
	return link[0] != '/' || move_to(s, open("/", FOLDER));
}

/* Go over the link at fd, which has that name. */
static bool take_link(struct steps *s, int fd, const char *name)
{
	struct stat st;

	if (fstat(fd, &st))
		return false;
	errno = ENOTDIR;
	if (!S_ISLNK(st.st_mode))
		return false;
	errno = EPERM;
	if (ow_ownfolder_has_others(s->at, &st))
		return false;
	errno = ELOOP;
	if (++*s->links > OW_OWNFOLDER_LINKS)
		return false;
	return ow_ownfolder_is_magic(fd) ?
		       move_to(s, openat(s->at, name, FOLDER)) :
		       follow(s, fd);
}

static bool take_other(struct steps *s, const char *name)
{
	int fd = openat(s->at, name, O_PATH | O_NOFOLLOW | O_CLOEXEC), why;
	bool is_good = fd >= 0 && take_link(s, fd, name);

	why = errno;
	if (fd >= 0)
		close(fd);
	errno = why;
	return is_good;
}

/* Take the first part of what is left, which is a folder as a rule. */
static bool take_step(struct steps *s)
{
	char name[NAME_MAX + 1];
	size_t size = strcspn(s->left, "/");

	errno = ENAMETOOLONG;
	if (size > NAME_MAX)
		return false;
	memcpy(name, s->left, size);
	name[size] = '\0';
	s->left += size;
	s->left += strspn(s->left, "/");
	return move_to(s, openat(s->at, name, FOLDER | O_NOFOLLOW)) ||
	       ((errno == ENOTDIR || errno == ELOOP) && take_other(s, name));
}

/* What a path says before its last part; NULL when out of memory. */
static char *folder_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return strndup(path, slash ? (size_t)(slash - path) : 0);
}

int ow_ownfolder_open(int base, const char *path, unsigned int *links)
{
	struct steps s = { .at = -1, .text = folder_of(path), .links = links };
	bool is_good = false;
	int why;

	if (s.text)
		s.at = openat(base, *path == '/' ? "/" : ".", FOLDER);
	if (s.at >= 0) {
		s.left = s.text + strspn(s.text, "/");
		is_good = true;
	}
	while (is_good && *s.left)
		is_good = take_step(&s);
	why = errno;
	free(s.text);
	if (is_good)
		return s.at;
	if (s.at >= 0)
		close(s.at);
	errno = why;
	return -1;
}
