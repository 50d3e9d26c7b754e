// SPDX-License-Identifier: BSD-2-Clause
#include "debugfile.h"

#include <dlfcn.h>
#include <elfutils/debuginfod.h>
#include <endian.h>
#include <libgen.h>
#include <lzma.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "budget.h"
#include "elfsym.h"
#include "error.h"
#include "likeness.h"
#include "object.h"

/* Bytes of a file whose CRC is made, of all such files, and of one step. */
#define LARGEST_READ ((size_t)1 << 30)
#define MOST_READ    ((uint64_t)4 << 30)
#define PIECE        ((size_t)4 << 20)

/* What a file must have to be the one looked for. */
struct wanted {
	const struct ow_object *of; /* NULL: what several objects share */
	const char *root;
	const uint8_t *build_id;
	size_t build_id_size; /* 0: unknown */
	const char *link;     /* from .gnu_debuglink, or NULL */
	uint32_t crc;
};

/* A file of dwz(1) has no segments, and so no PT_NOTE. */
static const uint8_t *build_id_of(const struct ow_object *obj, size_t *size_ret)
{
	struct ow_elf_section sec;
	struct ow_elf_note note;
	struct ow_cursor c;

	*size_ret = obj->build_id_size;
	if (obj->build_id_size > 0 ||
	    !ow_object_section(obj, ".note.gnu.build-id", &sec))
		return obj->build_id;
	c = (struct ow_cursor){ obj->bytes + sec.off,
				obj->bytes + sec.off + sec.size, false };
	if (ow_elf_note(&c, &note) && note.type == OW_NT_GNU_BUILD_ID)
		*size_ret = note.desc_size;
	return *size_ret ? note.desc : NULL;
}

/*
 * Return true if the CRC, which is that of zlib and of xz, of all its bytes is
 * that.  Files that are linked to needn't be whole to be long: there are limits
 * for one, and for all of a run.
 */
static bool has_crc(const struct ow_object *obj, uint32_t wanted)
{
	static atomic_uint_least64_t all_read;
	uint32_t crc = 0;

	if (obj->size > LARGEST_READ ||
	    atomic_fetch_add(&all_read, obj->size) > MOST_READ) {
		ow_budget_refuse(obj->path, "the CRC of this debug file");
		return false;
	}
	for (size_t at = 0, n; at < obj->size; at += n) {
		n = obj->size - at < PIECE ? obj->size - at : PIECE;
		crc = lzma_crc32(obj->bytes + at, n, crc);
		/* Pages that were read needn't count as ours. */
		if (!obj->is_image)
			madvise((void *)(obj->bytes + at), n, MADV_DONTNEED);
	}
	return crc == wanted;
}

static bool matches(const struct wanted *w, const struct ow_object *obj)
{
	struct ow_elf_section sec;
	const uint8_t *id;
	size_t size;

	if (!ow_object_section(obj, ".symtab", &sec) &&
	    !ow_object_section(obj, ".debug_info", &sec) &&
	    !ow_object_section(obj, ".zdebug_info", &sec))
		return false;
	if (w->of && !ow_likeness_of_layout(&w->of->elf, &obj->elf))
		return false;
	id = build_id_of(obj, &size);
	if (w->build_id_size > 0 && size > 0)
		return w->build_id_size == size &&
		       memcmp(w->build_id, id, size) == 0;
	return w->link && has_crc(obj, w->crc);
}

static struct ow_object *take_if_match(const struct wanted *w,
				       struct ow_object *obj)
{
	if (obj && matches(w, obj))
		return obj;
	ow_object_close(obj);
	return NULL;
}

__attribute__((format(printf, 2, 3))) static struct ow_object *
try_path(const struct wanted *w, const char *fmt, ...)
{
	_cleanup_(ow_freep) char *path = NULL;
	_cleanup_(ow_freep) char *full = NULL;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vasprintf(&path, fmt, ap);
	va_end(ap);
	if (n < 0) {
		path = NULL;
		return NULL;
	}
	if (asprintf(&full, "%s%s", w->root, path) < 0) {
		full = NULL;
		return NULL;
	}
	return take_if_match(w, ow_object_open(full, NULL));
}

static struct ow_object *by_build_id(const struct wanted *w)
{
	char hex[2 * OW_BUILD_ID_MAX + 1];
	struct wanted here = *w;
	struct ow_object *found;

	here.root = "";
	if (w->build_id_size < 2 || w->build_id_size > OW_BUILD_ID_MAX)
		return NULL;
	for (size_t i = 0; i < w->build_id_size; i++)
		snprintf(hex + 2 * i, 3, "%02x", w->build_id[i]);
	found = try_path(w, "/usr/lib/debug/.build-id/%.2s/%s.debug", hex,
			 hex + 2);
	if (found || !w->root[0])
		return found;
	return try_path(&here, "/usr/lib/debug/.build-id/%.2s/%s.debug", hex,
			hex + 2);
}

/* A name, padding to 4 bytes, and the CRC of the file. */
static bool read_debuglink(struct wanted *w, const struct ow_object *obj)
{
	struct ow_elf_section sec;
	const uint8_t *at;
	size_t len;

	if (!ow_object_section(obj, ".gnu_debuglink", &sec))
		return false;
	at = ow_elfsym_section(&obj->elf, &sec);
	if (!at)
		return false;
	len = strnlen((const char *)at, sec.size);
	if (len == 0 || memchr(at, '/', len) || (len | 3) + 5 > sec.size)
		return false;
	memcpy(&w->crc, at + (len | 3) + 1, 4);
	w->crc = le32toh(w->crc);
	w->link = (const char *)at;
	return true;
}

static struct ow_object *by_link_near(const struct wanted *w, const char *path)
{
	_cleanup_(ow_freep) char *copy = strdup(path);
	struct ow_object *found;
	const char *dir;

	if (!copy)
		return NULL;
	dir = dirname(copy);
	found = try_path(w, "%s/%s", dir, w->link);
	if (!found)
		found = try_path(w, "%s/.debug/%s", dir, w->link);
	if (!found)
		found = try_path(w, "/usr/lib/debug%s/%s", dir, w->link);
	return found;
}

/* Folders are symbolic links often (/lib), so try what they lead to, too. */
static struct ow_object *by_link(const struct wanted *w, const char *path)
{
	_cleanup_(ow_freep) char *real = NULL;
	struct ow_object *found;

	if (!path || path[0] != '/')
		return NULL;
	found = by_link_near(w, path);
	if (found)
		return found;
	real = realpath(path, NULL);
	return real && strcmp(real, path) != 0 ? by_link_near(w, real) : NULL;
}

/*
 * debuginfod is not linked: it brings libcurl and all that hangs on it, and
 * few ask for it.  It stays loaded, as libcurl registers exit handlers.
 */
static struct ow_object *by_debuginfod(const struct wanted *w)
{
	void *lib = dlopen(DEBUGINFOD_SONAME, RTLD_NOW);
	_cleanup_(ow_freep) char *path = NULL;
	_cleanup_(ow_closep) int fd = -1;
	debuginfod_client *client;

	if (!lib || w->build_id_size == 0)
		return NULL;
	__typeof__(&debuginfod_begin) begin = dlsym(lib, "debuginfod_begin");
	__typeof__(&debuginfod_find_debuginfo) find =
		dlsym(lib, "debuginfod_find_debuginfo");
	__typeof__(&debuginfod_end) end = dlsym(lib, "debuginfod_end");
	if (!begin || !find || !end)
		return NULL;
	client = begin();
	if (!client)
		return NULL;
	fd = find(client, w->build_id, (int)w->build_id_size, &path);
	end(client);
	if (fd < 0)
		return NULL;
	return take_if_match(w, ow_object_open_fd(fd, path, NULL));
}

struct ow_object *ow_debugfile_open(const struct ow_object *obj,
				    const char *root, bool use_debuginfod)
{
	struct wanted w = {
		.of = obj,
		.root = root ? root : "",
		.build_id = obj->build_id,
		.build_id_size = obj->build_id_size,
	};
	struct ow_object *found = by_build_id(&w);

	if (!found && read_debuglink(&w, obj))
		found = by_link(&w, obj->path);
	if (!found && use_debuginfod)
		found = by_debuginfod(&w);
	return found;
}

struct ow_object *ow_debugfile_open_alt(const char *name, const char *from,
					const void *build_id, size_t size,
					const char *root, bool use_debuginfod)
{
	struct wanted w = {
		.root = root ? root : "",
		.build_id = build_id,
		.build_id_size = size,
	};
	struct ow_object *found = by_build_id(&w);
	_cleanup_(ow_freep) char *copy = NULL;

	if (!found && name[0] == '/') {
		found = try_path(&w, "%s", name);
	} else if (!found && from) {
		/* from is a path that was opened: root is in it already */
		copy = realpath(from, NULL);
		w.root = "";
		if (copy)
			found = try_path(&w, "%s/%s", dirname(copy), name);
	}
	if (!found && use_debuginfod)
		found = by_debuginfod(&w);
	return found;
}
