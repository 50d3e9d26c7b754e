// SPDX-License-Identifier: BSD-2-Clause
/* A file that stacks are in: of which kind is told by how it begins. */
#include <fcntl.h>
#include <unistd.h>

#include "error.h"
#include "object.h"
#include "snapformat.h"

struct ow_capture *ow_capture_file(const char *path, const char *exe,
				   const struct ow_capture_options *options,
				   struct ow_error *err)
{
	_cleanup_(ow_closep) int fd = ow_open_input(path);
	char begin[8];
	ssize_t n = fd < 0 ? 0 : pread(fd, begin, sizeof(begin), 0);

	if (n > 0 && ow_snap_is_snapshot(begin, (size_t)n))
		return ow_capture_snapshot(path, exe, options, err);
	/* Whatever is wrong with others is told there. */
	return ow_capture_core(path, exe, options, err);
}
