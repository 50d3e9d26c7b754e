// SPDX-License-Identifier: BSD-2-Clause
#include "sysroot.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "error.h"
#include "object.h"
#include "reach.h"

#define MOST_LINKS 40 /* as the kernel's */
#define MOST_TRIES 100

static int open_root(const char *sysroot)
{
	return ow_reach_open(sysroot, O_PATH | O_DIRECTORY);
}

static const char *relative(const char *path)
{
	path += strspn(path, "/");
	return *path ? path : ".";
}

/* What has been resolved, without links, and what is still to be. */
struct steps {
	int root;
	char done[PATH_MAX]; /* relative to root; "" is root itself */
	char left[PATH_MAX];
	unsigned int links;
};

static void leave_folder(struct steps *s)
{
	char *slash = strrchr(s->done, '/');

	*(slash ? slash : s->done) = '\0';
}

/* Put text before what is left, without the part that text stands for. */
static bool follow(struct steps *s, const char *rest)
{
	char link[PATH_MAX], left[PATH_MAX];
	ssize_t n;

	ow_delegate_enter();
	n = readlinkat(s->root, s->done, link, sizeof(link) - 1);
	ow_delegate_leave();
	if (n < 0)
		return false;
	link[n] = '\0';
	errno = ELOOP;
	if (++s->links > MOST_LINKS)
		return false;
	errno = ENAMETOOLONG;
	if ((size_t)snprintf(left, sizeof(left), "%s/%s", link, rest) >=
	    sizeof(left))
		return false;
	memcpy(s->left, left, strlen(left) + 1);
	leave_folder(s);
	if (link[0] == '/')
		s->done[0] = '\0';
	return true;
}

/* Take the first part of what is left. */
static bool take_step(struct steps *s)
{
	size_t used = strlen(s->done);
	char *part = s->left + strspn(s->left, "/");
	size_t len = strcspn(part, "/");
	struct stat st;
	int failed;

	if ((len == 2 && memcmp(part, "..", 2) == 0) || len == 0 ||
	    (len == 1 && part[0] == '.')) {
		if (len == 2)
			leave_folder(s);
		memmove(s->left, part + len, strlen(part + len) + 1);
		return true;
	}
	errno = ENAMETOOLONG;
	if (used + len + 2 > sizeof(s->done))
		return false;
	snprintf(s->done + used, sizeof(s->done) - used, "%s%.*s",
		 used ? "/" : "", (int)len, part);
	ow_delegate_enter();
	failed = fstatat(s->root, s->done, &st, AT_SYMLINK_NOFOLLOW);
	ow_delegate_leave();
	if (failed)
		return false;
	if (S_ISLNK(st.st_mode))
		return follow(s, part + len);
	memmove(s->left, part + len, strlen(part + len) + 1);
	return true;
}

static int look_by_steps(int root, const char *path)
{
	struct steps s = { .root = root };

	errno = ENAMETOOLONG;
	if ((size_t)snprintf(s.left, sizeof(s.left), "%s", path) >=
	    sizeof(s.left))
		return -1;
	while (s.left[0])
		if (!take_step(&s))
			return -1;
	return ow_reach_openat(root, s.done[0] ? s.done : ".",
			       O_PATH | O_NOFOLLOW);
}

/*
 * Linux refuses a ".." by EAGAIN if anything on the machine was renamed or mounted
 * meanwhile, and wants to be asked again (openat2(2)): any user can have that happen to
 * every third look.  Steps would not be refused, but renames could lead them out of root.
 */
static int look_at_once(int root, const char *path)
{
	struct open_how how = {
		.flags = O_PATH | O_CLOEXEC,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};
	int fd, tries = 0;

	do
		fd = (int)syscall(SYS_openat2, root, path, &how, sizeof(how));
	while (fd < 0 && errno == EAGAIN && ++tries < MOST_TRIES);
	return fd;
}

static int look_in_root(int root, const char *path)
{
	int fd;

	ow_delegate_enter();
	fd = look_at_once(root, path);
	ow_delegate_leave();
	if (fd < 0 && (errno == ENOSYS || errno == EPERM))
		return look_by_steps(root, path);
	return fd;
}

int ow_sysroot_open_by_steps(const char *sysroot, const char *path)
{
	_cleanup_(ow_reach_closep) int root = open_root(sysroot);
	_cleanup_(ow_reach_closep) int look = -1;

	if (root >= 0)
		look = look_by_steps(root, relative(path));
	return look < 0 ? -1 : ow_reopen_regular(look);
}

int ow_sysroot_open(const char *sysroot, const char *path)
{
	_cleanup_(ow_reach_closep) int root = sysroot ? open_root(sysroot) : -1;
	_cleanup_(ow_reach_closep) int look = -1;

	if (!sysroot)
		return ow_open_regular(path);
	if (root >= 0)
		look = look_in_root(root, relative(path));
	return look < 0 ? -1 : ow_reopen_regular(look);
}
