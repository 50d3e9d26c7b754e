// SPDX-License-Identifier: BSD-2-Clause
#include "ownpath.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <pwd.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "identity.h"

#define OF_ROOT    "/var/cache"
#define MOST_LINKS 40 /* as the kernel's */

/* Where a walk has come to, and what is left of the path. */
struct steps {
	int at; /* O_PATH */
	char left[PATH_MAX];
	unsigned int links;
	bool make;
};

static bool is_ours(const struct stat *st)
{
	const struct ow_identity what = ow_identity_of(st);

	if (S_ISLNK(st->st_mode) ||
	    (S_ISDIR(st->st_mode) && st->st_mode & S_ISVTX))
		return st->st_uid == 0 || st->st_uid == geteuid();
	return ow_identity_is_ours(&what);
}

static void move_to(struct steps *s, int fd)
{
	close(s->at);
	s->at = fd;
}

/* Links of /proc lead elsewhere than their text says. */
static bool is_magic(int fd)
{
	struct statfs fs;

	return fstatfs(fd, &fs) || (uint32_t)fs.f_type == PROC_SUPER_MAGIC;
}

/* What the link at fd leads to comes before what is left. */
static bool follow(struct steps *s, int fd)
{
	char link[PATH_MAX], left[PATH_MAX];
	ssize_t n = readlinkat(fd, "", link, sizeof(link) - 1);
	int root;

	if (n < 0)
		return false;
	link[n] = '\0';
	errno = ELOOP;
	if (is_magic(fd) || ++s->links > MOST_LINKS)
		return false;
	errno = ENAMETOOLONG;
	if ((size_t)snprintf(left, sizeof(left), "%s/%s", link, s->left) >=
	    sizeof(left))
		return false;
	memcpy(s->left, left, strlen(left) + 1);
	if (link[0] != '/')
		return true;
	root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return false;
	move_to(s, root);
	return true;
}

static int look(const struct steps *s, const char *part)
{
	int flags = O_PATH | O_NOFOLLOW | O_CLOEXEC;
	int fd = openat(s->at, part, flags);

	if (fd >= 0 || errno != ENOENT || !s->make)
		return fd;
	if (mkdirat(s->at, part, 0755) && errno != EEXIST)
		return -1;
	return openat(s->at, part, flags);
}

/* Take the first part of what is left. */
static bool take_step(struct steps *s)
{
	char part[NAME_MAX + 1];
	size_t skip = strspn(s->left, "/");
	size_t size = strcspn(s->left + skip, "/");
	struct stat st;
	int fd;

	errno = ENAMETOOLONG;
	if (size > NAME_MAX)
		return false;
	memcpy(part, s->left + skip, size);
	part[size] = '\0';
	memmove(s->left, s->left + skip + size,
		strlen(s->left + skip + size) + 1);
	if (size == 0 || strcmp(part, ".") == 0)
		return true;
	fd = look(s, part);
	if (fd < 0)
		return false;
	if (fstat(fd, &st) || !is_ours(&st)) {
		errno = EPERM;
	} else if (!S_ISLNK(st.st_mode)) {
		move_to(s, fd);
		return true;
	} else if (follow(s, fd)) {
		close(fd);
		return true;
	}
	close(fd);
	return false;
}

int ow_ownpath_open(const char *path, bool make)
{
	struct steps s = { .at = -1, .make = make };
	int why;

	errno = EINVAL;
	if (path[0] != '/')
		return -1;
	errno = ENAMETOOLONG;
	if ((size_t)snprintf(s.left, sizeof(s.left), "%s", path) >=
	    sizeof(s.left))
		return -1;
	s.at = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	while (s.at >= 0 && s.left[0]) {
		if (take_step(&s))
			continue;
		why = errno;
		close(s.at);
		errno = why;
		return -1;
	}
	return s.at;
}

bool ow_path_is_own(const char *path)
{
	int fd = ow_ownpath_open(path, false);
	struct stat st;
	bool is_file = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
		       ow_identity_is_kept(fd);

	if (fd >= 0)
		close(fd);
	return is_file;
}

/*
 * $HOME, unless it is another user's: sudo may leave it as it was, and what is root's is
 * not to be where that user puts his.
 */
static bool own_home(char *buf, size_t size)
{
	const char *home = getenv("HOME");
	struct passwd entry, *found = NULL;
	char text[4096];
	struct stat st;

	if (home && home[0] == '/' &&
	    (stat(home, &st) || st.st_uid == geteuid()))
		return (size_t)snprintf(buf, size, "%s/.cache", home) < size;
	if (!getpwuid_r(geteuid(), &entry, text, sizeof(text), &found) &&
	    found && found->pw_dir[0] == '/')
		return (size_t)snprintf(buf, size, "%s/.cache", found->pw_dir) <
		       size;
	return geteuid() == 0 &&
	       (size_t)snprintf(buf, size, "%s", OF_ROOT) < size;
}

bool ow_ownpath_caches(char *buf, size_t size)
{
	const char *base = getenv("XDG_CACHE_HOME");

	/* A relative path is to be ignored (XDG Base Directory 0.8). */
	if (base && base[0] == '/')
		return (size_t)snprintf(buf, size, "%s", base) < size;
	return own_home(buf, size);
}
