// SPDX-License-Identifier: BSD-2-Clause
#include "debugfile.h"

#include <endian.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <lzma.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "debuginfod.h"
#include "elfsym.h"
#include "error.h"
#include "filemap.h"
#include "identity.h"
#include "leftout.h"
#include "likeness.h"
#include "monotonic.h"
#include "object.h"
#include "objectwatch.h"
#include "reach.h"
#include "userefforts.h"

/* Bytes of a file whose CRC is made, of all such files, and of one step. */
#define LARGEST_READ ((size_t)1 << 30)
#define MOST_READ    ((uint64_t)4 << 30)
#define PIECE        ((size_t)4 << 20)

#define FOLDER "/usr/lib/debug"
#define SILENT "its debug file, as what serves it did not answer in time"
#define SPENT  "its debug file, " OW_REACH_SPENT
#define SLOW                                                                 \
	"its debug file, as looking for those of others' objects has taken " \
	"too long"

/*
 * ns of CPU that a run may take to look for debug files of a user's objects: a name of
 * theirs may lead over symbolic links that each take the kernel as long as a whole path.
 */
static struct ow_userefforts lookups = OW_USEREFFORTS(3000000000, 40000000);

/* Bytes that may be read to make CRCs, and whether these were too few. */
struct reading {
	uint64_t left;
	bool is_short;
};

/* What a file must have to be the one looked for. */
struct wanted {
	const struct ow_object *of;   /* NULL: what several objects share */
	const struct ow_object *from; /* names it; NULL: it is in our folder */
	const char *root;
	uint8_t build_id[OW_BUILD_ID_MAX];
	size_t build_id_size;    /* 0: unknown */
	char link[NAME_MAX + 1]; /* from .gnu_debuglink, or "" */
	uint32_t crc;
	struct reading *reading; /* NULL: no CRC is to be made */
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
 * The CRC of an object's file, which is that of zlib and of xz; *ret is it.  Return false when
 * out of memory, or if the file ends early.
 */
static bool make_crc(const struct ow_object *obj, uint32_t *ret)
{
	size_t at, n, piece = obj->size < PIECE ? obj->size : PIECE;
	_cleanup_(ow_freep) uint8_t *buf = malloc(piece);
	bool by_file = obj->map;
	ssize_t got;

	for (at = 0; buf && at < obj->size; at += n) {
		n = obj->size - at < piece ? obj->size - at : piece;
		got = by_file ? ow_filemap_read(obj->map, buf, n, at) : -1;
		by_file = got >= 0;
		if (by_file && (size_t)got != n)
			return false;
		*ret = lzma_crc32(by_file ? buf : obj->bytes + at, n, *ret);
		/* Pages that were read needn't count as ours. */
		if (!by_file && !obj->is_image)
			madvise((void *)(obj->bytes + at), n, MADV_DONTNEED);
	}
	return buf;
}

/*
 * Return true if the CRC of all its bytes is
 * that.  Files that are linked to needn't be whole to be long: there are limits
 * for one, and for all of a run.
 */
static bool has_crc(const struct wanted *w, const struct ow_object *obj)
{
	static atomic_uint_least64_t all_read;
	uint32_t crc = 0;

	if (obj->size > w->reading->left) {
		w->reading->is_short = true;
		return false;
	}
	w->reading->left -= obj->size;
	if (obj->size > LARGEST_READ ||
	    atomic_fetch_add(&all_read, obj->size) > MOST_READ) {
		ow_object_refuse(obj, -OW_CODE_MEMORY,
				 "the CRC of this debug file");
		return false;
	}
	return make_crc(obj, &crc) && crc == w->crc;
}

static bool has_dwarf(const struct ow_object *obj)
{
	struct ow_elf_section sec;

	return ow_object_section(obj, ".debug_info", &sec) ||
	       ow_object_section(obj, ".zdebug_info", &sec);
}

static bool matches(const struct wanted *w, const struct ow_object *obj)
{
	struct ow_elf_section sec;
	const uint8_t *id;
	size_t size;

	if (!ow_object_section(obj, ".symtab", &sec) && !has_dwarf(obj))
		return false;
	if (w->of && !ow_likeness_of_layout(&w->of->elf, &obj->elf))
		return false;
	id = build_id_of(obj, &size);
	if (w->build_id_size > 0 && size > 0)
		return w->build_id_size == size &&
		       memcmp(w->build_id, id, size) == 0;
	return w->link[0] && w->reading && has_crc(w, obj);
}

/* Return true if nobody may write to a file who may not write to another one. */
static bool is_as_safe(const struct ow_identity *file,
		       const struct ow_identity *than)
{
	return file->uid == than->uid &&
	       !(file->mode & ~than->mode & (S_IWGRP | S_IWOTH)) &&
	       (!(file->mode & S_IWGRP) || file->gid == than->gid);
}

/*
 * Return true if names of a debug file may be an object's.  Anybody can give a file the
 * object's build-id, and put it where others put debug files, too, such as into /tmp; the
 * object's owner can choose its names anyway.  Where others than root have mounted a
 * file system, an owner is what they say it is.
 */
static bool may_name(const struct ow_object *debug, const struct ow_object *obj)
{
	bool is_file = !obj->is_image && obj->file.inode != 0;

	return (ow_identity_is_ours(&debug->file) ||
		(is_file && is_as_safe(&debug->file, &obj->file))) &&
	       ((is_file && debug->file.dev == obj->file.dev) ||
		ow_identity_is_roots(debug->file.dev));
}

static void leave_out_unsafe(const struct ow_object *debug,
			     const struct ow_object *obj)
{
	char what[PATH_MAX + 64];

	snprintf(what, sizeof(what),
		 "its debug file %s, which another user may have written",
		 debug->path);
	ow_leave_out(obj->path, what);
}

static struct ow_object *take_if_match(const struct wanted *w,
				       struct ow_object *obj)
{
	if (obj && matches(w, obj)) {
		if (!w->from || may_name(obj, w->from))
			return obj;
		leave_out_unsafe(obj, w->from);
	}
	ow_object_close(obj);
	return NULL;
}

__attribute__((format(printf, 2, 3))) static struct ow_object *
try_path(const struct wanted *w, const char *fmt, ...)
{
	_cleanup_(ow_freep) char *path = NULL;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vasprintf(&path, fmt, ap);
	va_end(ap);
	if (n < 0) {
		path = NULL;
		return NULL;
	}
	return take_if_match(w, ow_object_reach(w->root, path));
}

static struct ow_object *by_build_id(const struct wanted *w)
{
	char hex[2 * OW_BUILD_ID_MAX + 1];
	struct wanted here = *w;
	struct ow_object *found;

	here.root = "";
	here.from = NULL;
	if (w->build_id_size < 2)
		return NULL;
	for (size_t i = 0; i < w->build_id_size; i++)
		snprintf(hex + 2 * i, 3, "%02x", w->build_id[i]);
	if (w->root[0]) {
		found = try_path(w, FOLDER "/.build-id/%.2s/%s.debug", hex,
				 hex + 2);
		if (found)
			return found;
	}
	return try_path(&here, FOLDER "/.build-id/%.2s/%s.debug", hex, hex + 2);
}

/*
 * A text at the begin of a section, copied before it is looked at, as others may write to
 * it: its length; 0: there is none, or it takes more than room bytes.
 */
static size_t copy_text(const uint8_t *at, const struct ow_elf_section *sec,
			char *buf, size_t room)
{
	size_t size = sec->size < room ? sec->size : room;
	size_t len;

	memcpy(buf, at, size);
	len = strnlen(buf, size);
	return len < size ? len : 0;
}

/* A name, padding to 4 bytes, and the CRC of the file. */
static bool read_debuglink(struct wanted *w, const struct ow_object *obj)
{
	struct ow_elf_section sec;
	const uint8_t *at = NULL;
	char name[sizeof(w->link)];
	size_t len;

	if (ow_object_section(obj, ".gnu_debuglink", &sec))
		at = ow_elfsym_section(&obj->elf, &sec);
	if (!at)
		return false;
	len = copy_text(at, &sec, name, sizeof(name));
	if (len == 0 || strchr(name, '/') || (len | 3) + 5 > sec.size)
		return false;
	memcpy(&w->crc, at + (len | 3) + 1, 4);
	w->crc = le32toh(w->crc);
	memcpy(w->link, name, len + 1);
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
		found = try_path(w, FOLDER "%s/%s", dir, w->link);
	return found;
}

/* Where a name leads to, in PATH_MAX bytes. */
static bool has_real_path(const char *path, char *real)
{
	_cleanup_(ow_reach_closep) int fd = ow_reach_open(path, O_PATH);
	char self[32];

	snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	return fd >= 0 && ow_reach_link(self, real, PATH_MAX) > 0;
}

/* Folders are symbolic links often (/lib), so try what they lead to, too. */
static struct ow_object *by_link(const struct wanted *w, const char *path)
{
	struct ow_object *found;
	char real[PATH_MAX];

	if (!path || path[0] != '/')
		return NULL;
	found = by_link_near(w, path);
	if (found)
		return found;
	return has_real_path(path, real) && strcmp(real, path) != 0 ?
		       by_link_near(w, real) :
		       NULL;
}

static struct ow_object *by_debuginfod(const struct wanted *w, const char *of,
				       struct ow_debuginfod *debuginfod)
{
	_cleanup_(ow_freep) char *path =
		debuginfod ? ow_debuginfod_find(debuginfod, of, w->build_id,
						w->build_id_size) :
			     NULL;
	struct wanted kept = *w;

	kept.from = NULL;
	return path ? take_if_match(&kept, ow_object_open(path, NULL)) : NULL;
}

/* A file that a delegate looks for, which may be lost with it. */
struct search {
	struct wanted wanted;
	char name[PATH_MAX]; /* of what dwz made */
	const char *from;    /* and that names it */
	struct reading reading;
	void (*how)(void *arg);
	struct ow_object *found;
	uint64_t took_ns; /* of CPU */
};

static void find_debug(void *arg)
{
	struct search *s = arg;
	struct wanted *w = &s->wanted;

	s->found = by_build_id(w);
	if (!s->found && read_debuglink(w, w->of))
		s->found = by_link(w, w->of->path);
}

/* In our own folder of debug files only. */
static void find_near(void *arg)
{
	struct search *s = arg;

	s->wanted.root = "";
	s->found = by_build_id(&s->wanted);
}

static void find_alt(void *arg)
{
	struct search *s = arg;
	struct wanted *w = &s->wanted;
	char real[PATH_MAX];

	s->found = by_build_id(w);
	if (!s->found && s->name[0] == '/') {
		s->found = try_path(w, "%s", s->name);
	} else if (!s->found && has_real_path(s->from, real)) {
		/* from is a path that was opened: root is in it already */
		w->root = "";
		s->found = try_path(w, "%s/%s", dirname(real), s->name);
	}
}

/* Return true if no server is asked for what is in our own folder of debug files. */
static bool is_folder_near(void)
{
	struct ow_identity id;

	return ow_identity_look(FOLDER, &id) && ow_identity_is_near(id.dev);
}

/* No process could be started to search for it, for the reason that errno is. */
static void leave_out_unread(const char *path)
{
	struct ow_error none;
	char what[320];

	ow_delegate_fail(&none);
	snprintf(what, sizeof(what), "its debug file: %s", none.msg);
	ow_leave_out(path, what);
}

static void find_timed(void *arg)
{
	struct search *s = arg;
	uint64_t begun = ow_cpu_ns();

	s->how(s);
	s->took_ns = ow_cpu_ns() - begun;
}

/* Return true if only root, or we, can choose what its names lead over. */
static bool is_ours(const struct ow_object *obj)
{
	return !obj->root && !ow_objectwatch_is_others(obj);
}

/* Why only the system's own debug files are to be looked for; NULL: all are. */
static const char *limit_of(const struct ow_object *obj)
{
	if (ow_reach_is_spent())
		return SPENT;
	return is_ours(obj) || ow_userefforts_left(&lookups, obj->owner.share) ?
		       NULL :
		       SLOW;
}

/*
 * Have a delegate search for an object, as any name may lead to what never answers.
 * After waits for others' servers have taken all of their time, the system's own debug
 * files are found yet.
 */
static struct ow_object *search(const struct search *is,
				const struct ow_object *obj, const char *path,
				void (*how)(void *arg), struct reading *reading)
{
	struct search *s = malloc(sizeof(*s));
	const char *limit = limit_of(obj);
	struct ow_object *found = NULL;
	enum ow_delegation end;

	if (!s || (limit && !is_folder_near())) {
		ow_leave_out(path, s ? limit : "its debug file, for memory");
		free(s);
		return NULL;
	}
	*s = *is;
	s->how = limit ? find_near : how;
	s->reading = *reading;
	s->wanted.reading = &s->reading;
	ow_filemap_prepare();
	end = ow_reach(find_timed, s);
	if (end == OW_DELEGATION_DONE) {
		found = s->found;
		*reading = s->reading;
	}
	if (end == OW_DELEGATION_DONE && !is_ours(obj))
		ow_userefforts_spend(&lookups, obj->owner.share, s->took_ns);
	if (!found && limit)
		ow_leave_out(path, limit);
	else if (end == OW_DELEGATION_NONE)
		leave_out_unread(path);
	else if (end != OW_DELEGATION_DONE)
		ow_leave_out(path, SILENT);
	if (end != OW_DELEGATION_LOST)
		free(s);
	return found;
}

static void find_debug_of(struct ow_object *obj,
			  struct ow_debuginfod *debuginfod,
			  struct reading *reading)
{
	struct search s = {
		.wanted = {
			.of = obj,
			.from = obj,
			.root = obj->root ? obj->root : "",
			.build_id_size = obj->build_id_size,
		},
	};

	memcpy(s.wanted.build_id, obj->build_id, obj->build_id_size);
	if (!obj->is_debug_known)
		obj->debug = search(&s, obj, obj->path, find_debug, reading);
	obj->is_debug_known = obj->debug || !reading->is_short;
	if (!obj->debug)
		obj->debug = by_debuginfod(&s.wanted, obj->path, debuginfod);
}

struct ow_object *ow_debugfile_of(struct ow_object *obj,
				  struct ow_debuginfod *debuginfod)
{
	struct reading any = { .left = UINT64_MAX };

	find_debug_of(obj, debuginfod, &any);
	return obj->debug;
}

struct ow_object *ow_debugfile_with_dwarf(struct ow_object *obj,
					  struct ow_debuginfod *debuginfod)
{
	return has_dwarf(obj) ? obj : ow_debugfile_of(obj, debuginfod);
}

/* A name, and the build-id of the file (dwelf_dwarf_gnu_debugaltlink() of elfutils). */
static bool read_altlink(struct search *s, const struct ow_object *obj)
{
	struct ow_elf_section sec;
	const uint8_t *at = NULL;
	size_t len, size;

	if (ow_object_section(obj, ".gnu_debugaltlink", &sec))
		at = ow_elfsym_section(&obj->elf, &sec);
	if (!at)
		return false;
	len = copy_text(at, &sec, s->name, sizeof(s->name));
	size = sec.size - len - 1;
	if (len == 0 || size == 0 || size > sizeof(s->wanted.build_id))
		return false;
	memcpy(s->wanted.build_id, at + len + 1, size);
	s->wanted.build_id_size = size;
	return true;
}

struct ow_object *ow_debugfile_shared(struct ow_object *obj, const char *root,
				      struct ow_debuginfod *debuginfod)
{
	struct search s = {
		.wanted = { .from = obj, .root = root ? root : "" },
	};
	struct reading any = { .left = UINT64_MAX };
	_cleanup_(ow_freep) char *path = NULL;

	if (obj->shared || !read_altlink(&s, obj))
		return obj->shared;
	if (asprintf(&path, "%s%s", obj->root ? obj->root : "", obj->path) <
	    0) {
		path = NULL;
		return NULL;
	}
	s.from = path;
	if (!obj->is_shared_known)
		obj->shared = search(&s, obj, path, find_alt, &any);
	obj->is_shared_known = true;
	if (!obj->shared)
		obj->shared = by_debuginfod(&s.wanted, path, debuginfod);
	return obj->shared;
}

/* Return true if it names a file that has what it has not itself. */
static bool names_debug(const struct ow_object *obj, bool with_lines)
{
	struct ow_elf_section sec;
	struct ow_elfsyms t;

	return ow_object_section(obj, ".gnu_debuglink", &sec) &&
	       (!ow_elfsyms_init(&t, &obj->elf, OW_SHT_SYMTAB) ||
		(with_lines && !has_dwarf(obj)));
}

void ow_debugfile_find_named(struct ow_object *obj, bool with_lines,
			     uint64_t *left)
{
	struct reading reading = { .left = *left };
	struct ow_object *from;

	if (names_debug(obj, with_lines))
		find_debug_of(obj, NULL, &reading);
	*left = reading.left;
	from = has_dwarf(obj) ? obj : obj->debug;
	if (with_lines && from)
		ow_debugfile_shared(from, obj->root, NULL);
}
