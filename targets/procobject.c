// SPDX-License-Identifier: BSD-2-Clause
#include "procobject.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "error.h"
#include "leftout.h"
#include "mappings.h"
#include "processmem.h"

#define LARGEST_IMAGE ((uint64_t)256 << 20)

/*
 * The file that was mapped, as far as numbers can tell: devices differ where a file
 * system has several (btrfs, overlay).
 */
static int open_same(const char *path, const struct ow_capture_module *m)
{
	return ow_open_inode(path, m->inode);
}

/* What is mapped there now, unless that is another file by now. */
static int open_mapped(const struct ow_capture *c,
		       const struct ow_capture_module *m)
{
	char path[64], to[PATH_MAX];
	ssize_t size;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/map_files/%llx-%llx", c->live,
		 (unsigned long long)m->start, (unsigned long long)m->end);
	fd = open_same(path, m);
	if (fd >= 0)
		return fd;
	/* Inodes' numbers may differ, too, but names don't. */
	size = readlink(path, to, sizeof(to));
	if (size < 0 || (size_t)size != strlen(m->path) ||
	    memcmp(to, m->path, (size_t)size) != 0)
		return -1;
	return ow_open_regular(path);
}

static int open_file(const struct ow_capture *c,
		     const struct ow_capture_module *m)
{
	char path[PATH_MAX];
	int fd = -1;

	/* Half as long as by address, where the name leads to that file here. */
	if (m->path[0] == '/' && !m->deleted)
		fd = ow_open_file(m->path, m->dev, m->inode);
	if (fd < 0)
		fd = open_mapped(c, m);
	if (fd >= 0)
		return fd;
	snprintf(path, sizeof(path), "/proc/%d/exe", c->live);
	fd = open_same(path, m);
	if (fd >= 0 || m->path[0] != '/')
		return fd;
	if ((size_t)snprintf(path, sizeof(path), "/proc/%d/root%s", c->live,
			     m->path) < sizeof(path))
		fd = open_same(path, m);
	/* The process may be gone since. */
	return fd >= 0 ? fd : open_same(m->path, m);
}

/* Do two mappings belong to one loaded object? */
static bool same_object(const struct ow_capture_module *m,
			const struct ow_mapping *map)
{
	if (m->inode == 0)
		return map->start == m->start; /* the vDSO */
	return map->dev == m->dev && map->inode == m->inode &&
	       strcmp(map->path, m->path) == 0;
}

/*
 * The object's pieces, copied from memory to where they stand in the file: the
 * headers and all read-only segments, by which stacks can be unwound.
 */
static struct ow_object *open_image(const struct ow_capture *c,
				    const struct ow_capture_module *m,
				    struct ow_error *err)
{
	struct ow_mappings maps;
	struct ow_processmem mem;
	struct ow_mapping *p;
	uint64_t size = 0, off;
	uint8_t *bytes = NULL;

	if (ow_mappings_read(c->live, &maps, err)) {
		ow_mappings_free(&maps);
		return NULL;
	}
	for (p = maps.list; p < maps.list + maps.nr; p++) {
		off = m->inode ? p->off : 0;
		if (same_object(m, p) && p->readable && off < LARGEST_IMAGE &&
		    off + (p->end - p->start) > size)
			size = off + (p->end - p->start);
	}
	if (size && size <= LARGEST_IMAGE)
		bytes = calloc(1, size);
	ow_processmem_open(&mem, c->live, OW_READING_VM);
	for (p = maps.list; bytes && p < maps.list + maps.nr; p++) {
		off = m->inode ? p->off : 0;
		/* What lies further on wasn't counted. */
		if (same_object(m, p) && p->readable && !p->writable &&
		    off < size)
			ow_processmem_read(&mem, p->start, bytes + off,
					   p->end - p->start);
	}
	ow_processmem_close(&mem);
	ow_mappings_free(&maps);
	if (bytes)
		return ow_object_from_image(bytes, size, m->path, err);
	ow_fail(err, OW_CODE_ABSENT,
		"%s: the file mapped is not to be had, nor its memory",
		m->path);
	return NULL;
}

struct ow_object *ow_procobject_open(struct ow_capture *c,
				     struct ow_capture_module *m,
				     struct ow_error *err)
{
	_cleanup_(ow_closep) int fd = m->inode ? open_file(c, m) : -1;
	struct ow_object *obj;

	if (fd < 0 && errno == EWOULDBLOCK)
		ow_lose_file(m->path, OW_LOST_LEASED);
	if (fd < 0)
		return open_image(c, m, err);
	obj = ow_object_open_fd(fd, m->path, err);
	if (obj && c->use_tables && ow_object_keep_fd(obj, fd))
		fd = -1;
	return obj;
}
