// SPDX-License-Identifier: BSD-2-Clause
#include "corebytes.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "decompress.h"
#include "error.h"
#include "filemap.h"
#include "object.h"

#define BLOCK 4096

/*
 * Bytes that a core may have when it is decompressed, and how many times those of
 * the file: zeros take time, though they take no room.
 */
#define LARGEST       ((uint64_t)32 << 30)
#define LARGEST_RATIO 1024
#define SURELY        ((uint64_t)1 << 30) /* however small the file */

/* A file that grows by what is decompressed. */
struct spool {
	struct ow_sink sink; /* first */
	const struct ow_capture_options *options;
	int fd;
	uint64_t size;      /* so far, with holes */
	uint64_t most;      /* that it may grow to */
	uint64_t room;      /* bytes that may still be written */
	bool is_full;       /* it stopped as it has grown to that */
	const char *refuse; /* or why else, or NULL: errno tells */
	int os_errno;
};

static bool is_zero(const uint8_t *bytes, size_t size)
{
	return bytes[0] == 0 && memcmp(bytes, bytes + 1, size - 1) == 0;
}

static bool write_all(struct spool *s, const uint8_t *bytes, size_t size,
		      uint64_t off)
{
	ssize_t n;

	if (size > s->room) {
		s->refuse = "no room to decompress it in";
		return false;
	}
	s->room -= size;
	while (size > 0) {
		n = pwrite(s->fd, bytes, size, (off_t)off);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			s->os_errno = errno;
			return false;
		}
		bytes += n;
		size -= (size_t)n;
		off += (uint64_t)n;
	}
	return true;
}

static bool put(struct ow_sink *sink, const void *bytes, size_t size)
{
	struct spool *s = (struct spool *)sink;
	const uint8_t *at = bytes;
	size_t part;

	if (size > s->most - s->size) {
		s->is_full = true;
		return false;
	}
	while (size > 0) {
		part = BLOCK - s->size % BLOCK;
		if (part > size)
			part = size;
		if (!is_zero(at, part) && !write_all(s, at, part, s->size))
			return false;
		at += part;
		size -= part;
		s->size += part;
	}
	return true;
}

static void report(struct ow_sink *sink, size_t done, size_t total)
{
	const struct ow_capture_options *o = ((struct spool *)sink)->options;

	if (o && o->progress)
		o->progress(o->progress_arg, done, total);
}

static int open_temporary(void)
{
	const char *dir = getenv("TMPDIR");
	char path[PATH_MAX];
	int fd;

	if (!dir || dir[0] != '/')
		dir = "/var/tmp";
	fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (fd >= 0)
		return fd;
	if ((size_t)snprintf(path, sizeof(path), "%s/outwind-XXXXXX", dir) >=
	    sizeof(path))
		return -1;
	fd = mkostemp(path, O_CLOEXEC);
	if (fd >= 0)
		unlink(path);
	return fd;
}

/* How large a core may be that size bytes are of. */
static uint64_t most_of(size_t size)
{
	uint64_t most = size < LARGEST / LARGEST_RATIO ?
				(uint64_t)size * LARGEST_RATIO :
				LARGEST;

	return most > SURELY ? most : SURELY;
}

/* A disk that is full harms others: leave a sixteenth of what is free. */
static uint64_t room_of(int fd)
{
	struct statvfs st;
	uint64_t room;

	if (fstatvfs(fd, &st))
		return 0;
	room = (uint64_t)st.f_bavail * st.f_frsize;
	return room - room / 16;
}

static int map_fd(struct ow_corebytes *b, int fd, size_t size, const char *path,
		  struct ow_error *err)
{
	struct ow_filemap *map =
		ow_filemap_open_growing(fd, size, path, MAP_NORESERVE);

	if (!map)
		return ow_fail(err, OW_CODE_SYSTEM, "map %s", path);
	b->map = map;
	b->bytes = ow_filemap_bytes(map);
	b->size = size;
	return 0;
}

/* In place of the compressed bytes, what they mean. */
static int unpack(struct ow_corebytes *b, const struct ow_codec *codec,
		  const char *path, const struct ow_capture_options *options,
		  struct ow_error *err)
{
	struct ow_corebytes packed = *b;
	_cleanup_(ow_closep) int fd = open_temporary();
	struct spool s = { .sink = { put, report },
			   .options = options,
			   .fd = fd };
	enum ow_decompressed how;
	int failed;

	if (fd < 0)
		return ow_fail(err, OW_CODE_SYSTEM,
			       "%s: make a file to decompress it in", path);
	s.room = room_of(fd);
	s.most = most_of(packed.size);
	how = ow_decompress(codec, packed.bytes, packed.size, &s.sink);
	errno = s.os_errno;
	if (how == OW_DECOMPRESSED_MEMORY)
		return ow_fail(err, OW_CODE_MEMORY, "%s: out of memory", path);
	if (how == OW_DECOMPRESSED_STOPPED && !s.is_full && s.refuse)
		return ow_fail(err, OW_CODE_UNSUPPORTED, "%s: %s", path,
			       s.refuse);
	if (how == OW_DECOMPRESSED_STOPPED && !s.is_full)
		return ow_fail(err, OW_CODE_SYSTEM, "decompress %s", path);
	if (s.size == 0)
		return ow_fail(err, OW_CODE_FORMAT, "%s: damaged %s data", path,
			       ow_codec_name(codec));
	if (ftruncate(fd, (off_t)s.size))
		return ow_fail(err, OW_CODE_SYSTEM, "decompress %s", path);
	failed = map_fd(b, fd, s.size, path, err);
	if (failed)
		return failed;
	if (s.is_full)
		snprintf(b->damage, sizeof(b->damage),
			 "no more is decompressed after %llu bytes",
			 (unsigned long long)s.size);
	else if (how != OW_DECOMPRESSED_ALL)
		snprintf(b->damage, sizeof(b->damage),
			 "%s data %s after %llu bytes", ow_codec_name(codec),
			 how == OW_DECOMPRESSED_CUT ? "end too early" :
						      "are damaged",
			 (unsigned long long)s.size);
	ow_filemap_close(packed.map);
	return 0;
}

int ow_corebytes_open(struct ow_corebytes *b, const char *path,
		      const struct ow_capture_options *options,
		      struct ow_error *err)
{
	_cleanup_(ow_closep) int fd = ow_open_input(path);
	const struct ow_codec *codec;
	struct stat st;
	int failed;

	*b = (struct ow_corebytes){ 0 };
	if (fd < 0 && errno == ENOENT)
		return ow_fail(err, OW_CODE_ABSENT,
			       "%s: no such file or process", path);
	if (fd < 0)
		return ow_fail_open(err, path, "not a core file");
	if (fstat(fd, &st) || st.st_size == 0)
		return ow_fail(err, OW_CODE_FORMAT, "%s: not a core file",
			       path);
	failed = map_fd(b, fd, (size_t)st.st_size, path, err);
	codec = failed ? NULL : ow_codec_of(b->bytes, b->size);
	if (codec) {
		failed = unpack(b, codec, path, options, err);
		if (failed)
			ow_corebytes_close(b);
	}
	return failed;
}

void ow_corebytes_close(struct ow_corebytes *b)
{
	ow_filemap_close(b->map);
	b->map = NULL;
	b->bytes = NULL;
}
