// SPDX-License-Identifier: BSD-2-Clause
/* Writing snapshots to files. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "error.h"
#include "snapbuild.h"
#include "snapformat.h"

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

/* What is no regular file must not be replaced by one. */
static int check_place(const char *path, struct ow_error *err)
{
	struct stat st;

	if (lstat(path, &st) == 0 && !S_ISREG(st.st_mode))
		return ow_fail(err, OW_CODE_ARGUMENT,
			       "%s: is there, and not a regular file", path);
	return 0;
}

int ow_capture_save(struct ow_capture *c, const char *path, unsigned int flags,
		    struct ow_error *err)
{
	_cleanup_(ow_freep) uint8_t *bytes = NULL;
	_cleanup_(ow_closep) int fd = -1;
	char tmp[PATH_MAX];
	size_t size = 0;
	int failed = check_place(path, err);

	if (failed)
		return failed;
	if ((size_t)snprintf(tmp, sizeof(tmp), "%s.XXXXXX", path) >=
	    sizeof(tmp))
		return ow_fail(err, OW_CODE_ARGUMENT, "path too long");
	/* Before there is a file, which would be left if a signal ended us. */
	failed = make_bytes(c, flags, &bytes, &size, err);
	if (failed)
		return failed;
	/* It makes a file that its owner alone may read. */
	fd = mkostemp(tmp, O_CLOEXEC);
	if (fd < 0)
		return ow_fail(err, OW_CODE_SYSTEM, "create %s", tmp);
	failed = write_all(fd, bytes, size, path, err);
	if (!failed && rename(tmp, path))
		failed = ow_fail(err, OW_CODE_SYSTEM, "write %s", path);
	if (failed)
		unlink(tmp);
	return failed;
}
