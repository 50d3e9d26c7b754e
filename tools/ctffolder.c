// SPDX-License-Identifier: BSD-2-Clause
#include "ctffolder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "grow.h"

/* Linux, include/uapi/linux/mount.h, and system calls of 5.2. */
#define CMD_CREATE   6
#define NR_FSOPEN    430
#define NR_FSCONFIG  431
#define NR_FSMOUNT   432
#define CLOSE_ONEXEC 1

/* A file system's root that is mounted nowhere; or -1. */
static int mount_own(void)
{
	int fs = (int)syscall(NR_FSOPEN, "tmpfs", CLOSE_ONEXEC), root = -1;

	if (fs < 0)
		return -1;
	if (syscall(NR_FSCONFIG, fs, CMD_CREATE, NULL, NULL, 0) == 0)
		root = (int)syscall(NR_FSMOUNT, fs, CLOSE_ONEXEC, 0);
	close(fs);
	return root;
}

/* A trace has a file for each CPU and channel, at least. */
static void allow_files(void)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) ||
	    files.rlim_cur == files.rlim_max)
		return;
	files.rlim_cur = files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);
}

/* Open what was looked at, if it is a regular file; -1 with errno, 0 for a folder. */
static int open_looked(int look)
{
	struct stat st;
	char self[32];

	if (fstat(look, &st))
		return -1;
	if (S_ISDIR(st.st_mode))
		return 0;
	if (!S_ISREG(st.st_mode)) {
		errno = EINVAL;
		return -1;
	}
	snprintf(self, sizeof(self), "/proc/self/fd/%d", look);
	return open(self, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
}

/* In another user's folder a link may lead to what that user may not read. */
static int link_flags(int dir)
{
	struct stat st;

	return !fstat(dir, &st) && (st.st_uid == 0 || st.st_uid == geteuid()) ?
		       0 :
		       O_NOFOLLOW;
}

/* Open a file of the folder, and link to it by its name. */
static bool take(struct ctf_folder *f, int dir, const char *name)
{
	int look = openat(dir, name, O_PATH | O_CLOEXEC | link_flags(dir));
	int fd, error;
	char self[32];

	/* It leads nowhere, or is gone. */
	if (look < 0)
		return errno == ENOENT;
	fd = open_looked(look);
	error = errno;
	close(look);
	errno = error;
	if (fd <= 0)
		return fd == 0;
	if (!ow_grow(&f->fds, &f->room, f->nr + 1, sizeof(*f->fds))) {
		close(fd);
		errno = ENOMEM;
		return false;
	}
	f->fds[f->nr++] = fd;
	snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	return symlinkat(self, f->mount, name) == 0;
}

static bool has_right_kind(int dir, const char *name)
{
	struct stat st;

	return fstatat(dir, name, &st, 0) || S_ISREG(st.st_mode) ||
	       S_ISDIR(st.st_mode);
}

static bool take_or_check(struct ctf_folder *f, int dir, const char *name)
{
	errno = EINVAL;
	return f->mount < 0 ? has_right_kind(dir, name) : take(f, dir, name);
}

static bool set_path(struct ctf_folder *f, const char *folder)
{
	if (f->mount < 0)
		f->path = strdup(folder);
	else if (asprintf(&f->path, "/proc/self/fd/%d", f->mount) < 0)
		f->path = NULL;
	return f->path;
}

bool ctf_folder_open(struct ctf_folder *f, const char *folder, char *why,
		     size_t size)
{
	DIR *dir = opendir(folder);
	struct dirent *entry;
	bool well = true;

	*f = (struct ctf_folder){ .mount = mount_own() };
	if (!dir || !set_path(f, folder)) {
		snprintf(why, size, "open %s: %s", folder, strerror(errno));
		if (dir)
			closedir(dir);
		return false;
	}
	allow_files();
	while (well && (entry = readdir(dir))) {
		well = take_or_check(f, dirfd(dir), entry->d_name);
		if (!well)
			snprintf(why, size, "%s/%s: %s", folder, entry->d_name,
				 errno == EINVAL ? "not a regular file" :
						   strerror(errno));
	}
	closedir(dir);
	return well;
}

void ctf_folder_close(struct ctf_folder *f)
{
	while (f->nr > 0)
		close(f->fds[--f->nr]);
	if (f->mount >= 0)
		close(f->mount);
	free(f->fds);
	free(f->path);
	*f = (struct ctf_folder){ .mount = -1 };
}
