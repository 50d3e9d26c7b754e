// SPDX-License-Identifier: BSD-2-Clause
#include "tablefile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "error.h"
#include "filemap.h"
#include "object.h"
#include "reach.h"
#include "tabledir.h"
#include "tablegen.h"

#define MAX_SIZE   ((off_t)1 << 31)
#define MOST_TRIES 100   /* of names that may be taken */
#define NOT_KEPT   EXDEV /* of a file whose identity can't be written down */

bool ow_tables_exist(void)
{
	return ow_tabledir_exists();
}

#define NAME_SIZE  (2 * OW_BUILD_ID_MAX + sizeof(".owt"))
#define OTHER_SIZE (NAME_SIZE + 32) /* of a file that is being written */

static int name_of(const struct ow_object *obj, char *buf, struct ow_error *err)
{
	char id[2 * OW_BUILD_ID_MAX + 1];

	if (obj->build_id_size == 0)
		return ow_fail(err, OW_CODE_UNSUPPORTED,
			       "%s: no build-id to keep a table by", obj->path);
	ow_object_build_id(obj, id);
	snprintf(buf, NAME_SIZE, "%s.owt", id);
	return 0;
}

static bool belongs(const struct ow_tablefile *f, const struct ow_object *obj)
{
	const struct ow_table_head *head = f->bytes;
	uint8_t id[OW_TABLE_BUILD_ID] = { 0 };
	size_t n = obj->build_id_size;

	memcpy(id, obj->build_id, n < sizeof(id) ? n : sizeof(id));
	return memcmp(id, head->build_id, sizeof(id)) == 0 &&
	       f->table.arch == obj->elf.arch &&
	       ow_table_checksum(f->bytes, f->table_size) == head->check;
}

static bool is_trusted(const struct stat *st)
{
	return (st->st_uid == geteuid() || st->st_uid == 0) &&
	       !(st->st_mode & (S_IWGRP | S_IWOTH));
}

static bool read_parts(struct ow_tablefile *f)
{
	if (f->size <= sizeof(f->stamp))
		return false;
	f->table_size = f->size - sizeof(f->stamp);
	return ow_tablestamp_read(&f->stamp,
				  (const uint8_t *)f->bytes + f->table_size) &&
	       !ow_table_open(&f->table, f->bytes, f->table_size);
}

/* Map what the cache has for the object's build-id, whatever file it is of. */
static struct ow_tablefile *open_candidate(const struct ow_object *obj)
{
	struct ow_tablefile *f;
	char name[NAME_SIZE];
	struct stat st;
	_cleanup_(ow_closep) int fd = -1;

	if (name_of(obj, name, NULL))
		return NULL;
	fd = ow_tabledir_read(name);
	if (fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode) ||
	    st.st_size <= 0 || st.st_size > MAX_SIZE || !is_trusted(&st))
		return NULL;
	f = calloc(1, sizeof(*f));
	if (!f)
		return NULL;
	f->size = st.st_size;
	f->map = ow_filemap_open(fd, f->size, name, MAP_POPULATE);
	if (!f->map) {
		free(f);
		return NULL;
	}
	f->bytes = ow_filemap_bytes(f->map);
	if (!read_parts(f) || !belongs(f, obj)) {
		ow_tablefile_close(f);
		return NULL;
	}
	return f;
}

struct ow_tablefile *ow_tablefile_open(const struct ow_object *obj)
{
	struct ow_tablefile *f =
		ow_identity_is_ours(&obj->file) ? open_candidate(obj) : NULL;

	if (!f || ow_tablestamp_has(&f->stamp, &obj->file))
		return f;
	ow_tablefile_close(f);
	return NULL;
}

void ow_tablefile_close(struct ow_tablefile *f)
{
	if (!f)
		return;
	ow_filemap_close(f->map);
	free(f);
}

static int write_all(int fd, const uint8_t *bytes, size_t size)
{
	ssize_t n;

	while (size > 0) {
		n = write(fd, bytes, size);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -1;
		bytes += n;
		size -= n;
	}
	return 0;
}

/* A file of another name in dir, which is not there yet. */
static int make_other(int dir, const char *name, char *other)
{
	int fd = -1, i;

	for (i = 0; i < MOST_TRIES && fd < 0; i++) {
		snprintf(other, OTHER_SIZE, "%s.%d-%d", name, getpid(), i);
		fd = openat(dir, other,
			    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW |
				    O_CLOEXEC,
			    0644);
		if (fd < 0 && errno != EEXIST)
			break;
	}
	return fd;
}

/* Write under another name first, so that nobody ever sees half a table. */
static int save(const struct ow_object *obj, const uint8_t *bytes, size_t size,
		const struct ow_tablestamp *stamp, struct ow_error *err)
{
	char name[NAME_SIZE], other[OTHER_SIZE];
	_cleanup_(ow_closep) int dir = -1;
	_cleanup_(ow_closep) int fd = -1;
	int failed = name_of(obj, name, err);

	if (failed)
		return failed;
	dir = ow_tabledir_make(err);
	if (dir < 0)
		return -OW_CODE_SYSTEM;
	fd = make_other(dir, name, other);
	if (fd < 0)
		return ow_fail(err, OW_CODE_SYSTEM, "create table %s", name);
	if (write_all(fd, bytes, size) ||
	    write_all(fd, (const uint8_t *)stamp, sizeof(*stamp)) ||
	    fchmod(fd, 0644) || renameat(dir, other, dir, name)) {
		ow_fail(err, OW_CODE_SYSTEM, "write table %s", name);
		unlinkat(dir, other, 0);
		return -OW_CODE_SYSTEM;
	}
	return 0;
}

static void describe(const struct ow_tablefile *f, const struct ow_object *obj,
		     struct ow_table_stats *stats)
{
	struct ow_table_pos pos = { .block = 0 };

	*stats = (struct ow_table_stats){
		.rules = ow_table_nr_rules(&f->table),
		.sets = f->table.nr_sets,
		.size = f->table_size,
		.cfi_size = obj->cfi_size,
		.was_there = true,
	};
	while (ow_table_next(&f->table, &pos) > 0)
		stats->rows++;
}

static bool is_too_large(uint64_t size, uint64_t cfi_size)
{
	return size * 100 > cfi_size * OW_TABLE_MAX_PERCENT;
}

/* Return true if the cache has a table that is of other files only. */
static bool is_of_others(const struct ow_object *obj)
{
	struct ow_tablefile *f = open_candidate(obj);
	bool others = f && !ow_tablestamp_has(&f->stamp, &obj->file);

	ow_tablefile_close(f);
	return others;
}

/* Remove what the cache may have of the object, if it is no other file's. */
static int forget(const struct ow_object *obj, struct ow_error *err)
{
	_cleanup_(ow_closep) int dir = -1;
	char name[NAME_SIZE];
	int failed = name_of(obj, name, err);

	if (failed)
		return failed;
	if (is_of_others(obj))
		return 0;
	dir = ow_tabledir_exists() ? ow_tabledir_make(err) : -1;
	if (dir >= 0 && unlinkat(dir, name, 0) && errno != ENOENT)
		return ow_fail(err, OW_CODE_SYSTEM, "unlink table %s", name);
	return 0;
}

/* The files that the cache has this very table for already, and this one. */
static struct ow_tablestamp stamp_of(const struct ow_object *obj,
				     const uint8_t *bytes, size_t size)
{
	struct ow_tablefile *old = open_candidate(obj);
	struct ow_tablestamp stamp = { .nr = 0 };

	if (old && old->table_size == size &&
	    memcmp(old->bytes, bytes, size) == 0)
		stamp = old->stamp;
	ow_tablefile_close(old);
	ow_tablestamp_add(&stamp, &obj->file);
	return stamp;
}

static int make(const struct ow_object *obj, struct ow_table_stats *stats,
		struct ow_error *err)
{
	struct ow_tablestamp stamp;
	size_t size;
	_cleanup_(ow_freep) uint8_t *bytes =
		ow_table_generate(obj, &size, stats, NULL, err);

	if (!bytes)
		return -OW_CODE_FORMAT;
	stats->too_large = is_too_large(size, obj->cfi_size);
	if (stats->too_large)
		return forget(obj, err);
	stamp = stamp_of(obj, bytes, size);
	return save(obj, bytes, size, &stamp, err);
}

static int find_or_make(struct ow_object *obj, struct ow_table_stats *stats,
			struct ow_error *err)
{
	struct ow_tablefile *old;
	int failed = ow_object_load_cfi(obj, err);

	if (failed)
		return failed;
	old = ow_tablefile_open(obj);
	if (old && !is_too_large(old->table_size, obj->cfi_size))
		describe(old, obj, stats);
	else
		failed = make(obj, stats, err);
	ow_tablefile_close(old);
	return failed;
}

/*
 * Open a file, unless nothing tells it apart from another one later: that may be
 * served by what tells false times, or never answers.
 */
static int open_kept(void *path)
{
	int fd = ow_open_regular(path);
	bool is_kept;

	if (fd < 0)
		return -1;
	ow_delegate_enter();
	is_kept = ow_identity_is_kept(fd);
	ow_delegate_leave();
	if (is_kept)
		return fd;
	ow_reach_closep(&fd);
	errno = NOT_KEPT;
	return -1;
}

/* A process may decide what the path leads to, and when the open of it returns. */
static int open_file(const char *path, struct ow_error *err)
{
	int fd = ow_reach_fd(open_kept, (void *)path);

	if (fd < 0 && errno == NOT_KEPT)
		ow_fail(err, OW_CODE_UNSUPPORTED, "%s: " OW_TABLE_NOT_KEPT,
			path);
	else if (fd < 0)
		ow_fail_open(err, path, "not an ELF file");
	return fd;
}

int ow_tablefile_make(int fd, const char *path, struct ow_table_stats *stats,
		      struct ow_error *err)
{
	struct ow_object *obj = ow_object_open_fd(fd, path, err);
	struct ow_table_stats mine;
	int failed;

	if (!obj)
		return -OW_CODE_FORMAT;
	if (ow_identity_is_ours(&obj->file))
		failed = find_or_make(obj, &mine, err);
	else
		failed = ow_fail(err, OW_CODE_UNSUPPORTED,
				 "%s: " OW_TABLE_OF_OTHERS, path);
	ow_object_close(obj);
	if (!failed && stats)
		*stats = mine;
	return failed;
}

int ow_table_make(const char *path, struct ow_table_stats *stats,
		  struct ow_error *err)
{
	_cleanup_(ow_closep) int fd = open_file(path, err);

	return fd < 0 ? -OW_CODE_FORMAT :
			ow_tablefile_make(fd, path, stats, err);
}
