// SPDX-License-Identifier: BSD-2-Clause
/* Writing snapshots to files. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "error.h"
#include "ownfolder.h"
#include "snapbuild.h"
#include "snapformat.h"

#define MOST_TRIES 100 /* to find a name that nothing has */

static int write_all(int fd, const uint8_t *bytes, size_t size,
		     const char *name, struct ow_error *err)
{
	ssize_t n;

	while (size > 0) {
		n = write(fd, bytes, size);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return ow_fail(err, OW_CODE_SYSTEM, "write %s", name);
		bytes += n;
		size -= n;
	}
	return 0;
}

/* The file's bytes, to be freed, in *ret. */
static int make_bytes(struct ow_capture *c, unsigned int flags, uint8_t **ret,
		      size_t *size, struct ow_error *err)
{
	struct ow_bytebuf sections = { 0 };
	int failed = ow_snap_build(c, flags, &sections, err);

	if (!failed) {
		*ret = ow_snap_pack(sections.bytes, sections.size, size, err);
		failed = *ret ? 0 : -OW_CODE_MEMORY;
	}
	ow_bytebuf_deinit(&sections);
	return failed;
}

int ow_capture_save_fd(struct ow_capture *c, int fd, const char *name,
		       unsigned int flags, struct ow_error *err)
{
	_cleanup_(ow_freep) uint8_t *bytes = NULL;
	size_t size = 0;
	int failed = make_bytes(c, flags, &bytes, &size, err);

	return failed ? failed : write_all(fd, bytes, size, name, err);
}

/* The file's name in its folder, and the one that it has until it is complete. */
struct place {
	int folder; /* O_PATH */
	const char *name;
	char tmp[NAME_MAX + 1];
};

/* What is no regular file must not be replaced by one. */
static int find_place(struct place *p, const char *path, struct ow_error *err)
{
	const char *slash = strrchr(path, '/');
	unsigned int links = 0;
	struct stat st;

	p->name = slash ? slash + 1 : path;
	p->folder = ow_ownfolder_open(AT_FDCWD, path, &links);
	if (p->folder < 0 && errno == EPERM)
		return ow_fail(err, OW_CODE_ARGUMENT,
			       "%s: another user has put a link on the way, "
			       "where anybody may: nothing is written to it",
			       path);
	if (p->folder < 0)
		return ow_fail(err, OW_CODE_SYSTEM, "create %s", path);
	if (!*p->name ||
	    (fstatat(p->folder, p->name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	     !S_ISREG(st.st_mode)))
		return ow_fail(err, OW_CODE_ARGUMENT,
			       "%s: is there, and not a regular file", path);
	return 0;
}

/* Make a file that its owner alone may read; return it, or -1 with errno. */
static int make_file(struct place *p)
{
	unsigned int tries;
	uint32_t number;
	int fd;

	for (tries = 0; tries < MOST_TRIES; tries++) {
		if (getrandom(&number, sizeof(number), 0) != sizeof(number))
			return -1;
		errno = ENAMETOOLONG;
		if ((size_t)snprintf(p->tmp, sizeof(p->tmp), "%s.%08x", p->name,
				     number) >= sizeof(p->tmp))
			return -1;
		fd = openat(p->folder, p->tmp,
			    O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
		if (fd >= 0 || errno != EEXIST)
			return fd;
	}
	return -1;
}

static int save(struct place *p, const char *path, const uint8_t *bytes,
		size_t size, struct ow_error *err)
{
	_cleanup_(ow_closep) int fd = make_file(p);
	int failed;

	if (fd < 0)
		return ow_fail(err, OW_CODE_SYSTEM, "create %s", path);
	failed = write_all(fd, bytes, size, path, err);
	if (!failed && renameat(p->folder, p->tmp, p->folder, p->name))
		failed = ow_fail(err, OW_CODE_SYSTEM, "write %s", path);
	if (failed)
		unlinkat(p->folder, p->tmp, 0);
	return failed;
}

int ow_capture_save(struct ow_capture *c, const char *path, unsigned int flags,
		    struct ow_error *err)
{
	_cleanup_(ow_freep) uint8_t *bytes = NULL;
	struct place p = { .folder = -1 };
	size_t size = 0;
	int failed = find_place(&p, path, err);

	/* Before there is a file, which would be left if a signal ended us. */
	if (!failed)
		failed = make_bytes(c, flags, &bytes, &size, err);
	if (!failed)
		failed = save(&p, path, bytes, size, err);
	ow_closep(&p.folder);
	return failed;
}
