// SPDX-License-Identifier: BSD-2-Clause
#include "ownfile.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ownfolder.h"

/* Have f be the name, and the folder, that path has below f's folder. */
static bool move_to(struct ownfile *f, const char *path)
{
	const char *slash = strrchr(path, '/');
	char *name = strdup(slash ? slash + 1 : path);
	int folder = -1;

	if (name)
		folder = ow_ownfolder_open(f->folder, path, &f->nr_links);
	if (folder < 0) {
		free(name);
		return false;
	}
	if (f->folder >= 0)
		close(f->folder);
	free(f->name);
	f->folder = folder;
	f->name = name;
	return true;
}

/* Where the link at fd leads to. */
static bool follow(struct ownfile *f, int fd)
{
	char link[PATH_MAX];
	ssize_t n = readlinkat(fd, "", link, sizeof(link) - 1);

	if (n < 0)
		return false;
	link[n] = '\0';
	f->is_magic = ow_ownfolder_is_magic(fd);
	errno = ELOOP;
	return !f->is_magic && ++f->nr_links <= OW_OWNFOLDER_LINKS &&
	       move_to(f, link);
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
	if (*is_good && ow_ownfolder_has_others(f->folder, &f->is)) {
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

	*f = (struct ownfile){ .folder = AT_FDCWD };
	errno = ENOENT;
	if (!*path || !move_to(f, path))
		return false;
	while (look(f, &is_good))
		;
	return is_good;
}

bool ownfile_reserve(struct ownfile *f)
{
	struct stat dir;
	int fd;

	if (f->is.st_mode || fstat(f->folder, &dir) ||
	    !(dir.st_mode & S_ISVTX) || !ow_ownfolder_is_open(&dir))
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
static int create_there(const struct ownfile *f, const struct stat *dir)
{
	int fd = openat(f->folder, f->name,
			O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK |
				O_NOCTTY | O_CLOEXEC,
			0666);
	struct stat st;

	if (fd < 0) {
		errno = errno == ELOOP ? EPERM : errno;
		return -1;
	}
	if (fstat(fd, &st) || ow_ownfolder_is_anothers(&st, dir) ||
	    st.st_nlink > 1) {
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

static int open_found(const struct ownfile *f)
{
	struct stat dir;

	if (fstat(f->folder, &dir))
		return -1;
	if (!f->is_magic && ow_ownfolder_is_open(&dir))
		return create_there(f, &dir);
	return openat(f->folder, f->name,
		      O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
}

int ownfile_open(const char *path)
{
	struct ownfile f;
	int fd = -1;

	if (ownfile_find(&f, path) || f.is_magic)
		fd = open_found(&f);
	ownfile_deinit(&f);
	return fd;
}

FILE *ownfile_create(const char *path)
{
	int fd = ownfile_open(path);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "w");

	if (!f && fd >= 0)
		close(fd);
	return f;
}
