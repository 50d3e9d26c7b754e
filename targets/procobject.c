// SPDX-License-Identifier: BSD-2-Clause
#include "procobject.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "budget.h"
#include "copiedup.h"
#include "delegate.h"
#include "env.h"
#include "error.h"
#include "identity.h"
#include "leftout.h"
#include "mappings.h"
#include "monotonic.h"
#include "owner.h"
#include "processmem.h"
#include "procfs.h"
#include "reach.h"
#include "servedfs.h"
#include "userefforts.h"

#define LARGEST_IMAGE ((uint64_t)256 << 20)
#define MOST_LISTED \
	((size_t)4 << 20) /* mappings, for all images of a capture */
#define FETCH_PART ((size_t)1 << 20)
#define SILENT     "what serves it did not answer in time"
#define SLOW       "copies of what is mapped have taken too long"
#define SILENT_NS  60000000000 /* until a silent server is asked again */

/* The file that was mapped, as far as its numbers can tell. */
static int open_same(const char *path, const struct ow_capture_module *m)
{
	return ow_open_listed(path, m->dev, m->inode);
}

/* Return true if the file is still mapped there. */
static bool is_mapped(const struct ow_capture *c,
		      const struct ow_capture_module *m)
{
	const struct ow_mapping listed = { .start = m->start,
					   .end = m->end,
					   .off = m->off,
					   .dev = m->dev,
					   .inode = m->inode,
					   .path = m->path };

	return ow_mappings_is_still(c->live, &listed);
}

/* What is mapped there now, unless that is another file by now. */
static int open_mapped(const struct ow_capture *c,
		       const struct ow_capture_module *m)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/map_files/%llx-%llx", c->live,
		 (unsigned long long)m->start, (unsigned long long)m->end);
	fd = open_same(path, m);
	if (fd >= 0)
		return fd;
	/* stat(2) may tell other numbers, but the list of mappings doesn't. */
	fd = ow_open_regular(path);
	if (fd < 0 || is_mapped(c, m))
		return fd;
	ow_reach_closep(&fd);
	return -1;
}

/*
 * ns of CPU that a run may take, for each user, to go by names that lie below the roots of
 * processes: one may cross any number of mounts.
 */
static struct ow_userefforts lookups = OW_USEREFFORTS(1000000000, 20000000);

/* By its name, as the process sees it. */
static int open_below(const struct ow_capture *c,
		      const struct ow_capture_module *m)
{
	uint64_t begun = ow_cpu_ns();
	uint32_t share = ow_process_owner(c->live).share;
	char path[PATH_MAX];
	int fd;

	if (!ow_userefforts_left(&lookups, share) ||
	    (size_t)snprintf(path, sizeof(path), "/proc/%d/root%s", c->live,
			     m->path) >= sizeof(path))
		return -1;
	fd = open_same(path, m);
	ow_userefforts_spend(&lookups, share, ow_cpu_ns() - begun);
	return fd;
}

static int open_file(const struct ow_capture *c,
		     const struct ow_capture_module *m)
{
	char path[PATH_MAX];
	int fd;

	/* First by address, as the name may lead to a server. */
	fd = open_mapped(c, m);
	if (fd < 0 && m->path[0] == '/' && !m->deleted)
		fd = ow_open_file(m->path, m->dev, m->inode);
	if (fd >= 0)
		return fd;
	snprintf(path, sizeof(path), "/proc/%d/exe", c->live);
	fd = open_same(path, m);
	if (fd >= 0 || m->path[0] != '/')
		return fd;
	fd = open_below(c, m);
	/* The process may be gone since. */
	return fd >= 0 ? fd : open_same(m->path, m);
}

/* A module whose file is no server's, as far as is known. */
struct opening {
	const struct ow_capture *c;
	const struct ow_capture_module *m;
};

/*
 * Return true if what has been opened may be a server's: the process may have mapped
 * another file, or the device may be another file system's by now.
 */
static bool is_served_now(const struct opening *o, int fd)
{
	struct stat st;

	if (ow_reach_stat(fd, &st))
		return true;
	if (major(st.st_dev) != 0 && st.st_dev == o->m->dev)
		return false;
	return ow_is_served(fd, st.st_dev) &&
	       ow_servedfs_of(o->c->live, st.st_dev) != OW_SERVEDFS_LOCAL;
}

/* -1 with EREMOTE if it is a server's. */
static int open_unserved(void *arg)
{
	const struct opening *o = arg;
	_cleanup_(ow_reach_closep) int fd = open_file(o->c, o->m);
	int ret = fd;

	if (fd >= 0 && is_served_now(o, fd)) {
		errno = EREMOTE;
		return -1;
	}
	fd = -1;
	return ret;
}

/* The device of our own root stays that. */
static bool is_lasting(uint64_t dev)
{
	static uint64_t root;
	struct stat st;

	if (major(dev) != 0)
		return true;
	if (!root && stat("/", &st) == 0)
		root = st.st_dev;
	return dev == root;
}

/* What no server has, by its name in the kernel's cache, or else by a delegate. */
static int open_here(const struct ow_capture *c,
		     const struct ow_capture_module *m)
{
	struct opening o = { c, m };
	int fd = -1;

	if (m->path[0] == '/' && !m->deleted && is_lasting(m->dev))
		fd = ow_open_cached(m->path, m->dev, m->inode);
	return fd >= 0 ? fd : ow_reach_fd(open_unserved, &o);
}

static bool is_of_file(const struct ow_capture_module *m)
{
	return ow_identity_is_file(m->dev, m->inode);
}

/* Is it listed by that name?  (It may be one that ends so itself: deletednames.h.) */
static bool has_path(const struct ow_mapping *map, const char *path)
{
	size_t n = strlen(map->path);

	return strncmp(map->path, path, n) == 0 &&
	       (path[n] == '\0' ||
		(map->deleted && strcmp(path + n, OW_DELETED) == 0));
}

/* Do two mappings belong to one loaded object? */
static bool same_object(const struct ow_capture_module *m,
			const struct ow_mapping *map)
{
	if (!is_of_file(m))
		return map->start == m->start; /* the vDSO */
	return map->dev == m->dev && map->inode == m->inode &&
	       has_path(map, m->path);
}

/*
 * ns of CPU that a run may take, for each user, to copy files and memory of processes, which
 * may have any number of large ones mapped.
 */
static struct ow_userefforts copies = OW_USEREFFORTS(2000000000, 50000000);

/*
 * ns that a copy counts for at most, for itself, a byte, and a mapping that was listed:
 * several times as much as on a usual machine, so that a slow one isn't refused what is
 * usual.
 */
#define COPY_NS    500000
#define BYTE_NS    2
#define MAPPING_NS 2000

/* An object that a delegate copies, as the copying may never end. */
struct fetching {
	const struct ow_capture *c;
	const struct ow_capture_module *m;
	void (*how)(struct fetching *f);
	bool is_probe; /* look whether it can be read, no more */
	bool is_late;  /* copies have taken too long: there is none */
	bool is_there; /* it can be */
	uint8_t *bytes;
	size_t size;
	struct ow_owner own;
	size_t nr_listed;    /* mappings, to find those of the object */
	uint64_t nr_read;    /* bytes, some of them maybe again and again */
	struct ow_error why; /* without bytes */
};

/* Have memory for a copy of size bytes; or leave it NULL, and why. */
static void make_room(struct fetching *f, uint64_t size)
{
	f->size = size;
	if (size == 0 || size > LARGEST_IMAGE)
		return;
	if (ow_owner_take(&f->own, size)) {
		f->bytes = calloc(1, size);
		return;
	}
	ow_budget_refuse(f->m->path, "a copy of it");
	ow_fail(&f->why, OW_CODE_MEMORY,
		"%s: a copy of it would take too much memory", f->m->path);
}

static bool is_elf(const uint8_t *first, ssize_t size)
{
	return size > SELFMAG && memcmp(first, ELFMAG, SELFMAG) == 0;
}

/*
 * Where the file's next data is, from off on: what lies before it is a hole, of any size,
 * and zero in a copy as well.  The last byte of all counts as data, so that a file that
 * became shorter is told.
 */
static off_t next_data(int fd, off_t off, off_t size)
{
	off_t at;

	ow_delegate_enter();
	at = lseek(fd, off, SEEK_DATA);
	ow_delegate_leave();
	if (at < 0 && errno != ENXIO)
		return off;
	if (at < 0 || at >= size)
		return size - 1;
	return at > off ? at : off;
}

/* Copy the file's data; what is there of the copy is zero.  Return true if it was there. */
static bool copy_data(struct fetching *f, int fd)
{
	off_t size = (off_t)f->size, off = 0;
	size_t most;
	ssize_t n;

	while (off < size) {
		off = next_data(fd, off, size);
		most = (size_t)(size - off);
		n = ow_reach_pread(fd, f->bytes + off,
				   most < FETCH_PART ? most : FETCH_PART, off);
		if (n <= 0)
			return false;
		off += n;
		f->nr_read += (uint64_t)n;
	}
	return true;
}

/* Read all of the file, or look whether that is possible. */
static void fetch_file(struct fetching *f)
{
	_cleanup_(ow_reach_closep) int fd = -1;
	struct stat st = { 0 };
	uint8_t first[64];
	ssize_t n;

	fd = open_file(f->c, f->m);
	n = fd < 0 || ow_reach_stat(fd, &st) ?
		    -1 :
		    ow_reach_pread(fd, first, sizeof(first), 0);
	if (n <= 0 || st.st_size > (off_t)LARGEST_IMAGE || f->is_probe) {
		f->is_there = n > 0;
		return;
	}
	if (!is_elf(first, n)) {
		ow_fail(&f->why, OW_CODE_FORMAT, "%s: not an ELF file",
			f->m->path);
		return;
	}
	make_room(f, (uint64_t)st.st_size);
	f->is_there = f->bytes && copy_data(f, fd);
}

/*
 * The object's pieces, copied from memory to where they stand in the file: the
 * headers and all read-only segments, by which stacks can be unwound.
 */
static void fetch_image(struct fetching *f)
{
	const struct ow_capture_module *m = f->m;
	const struct ow_capture *c = f->c;
	struct ow_mappings maps;
	struct ow_processmem mem;
	struct ow_mapping *p;
	uint64_t size = 0, off;
	uint8_t *bytes;

	if (ow_mappings_read(c->live, &maps, &f->why)) {
		ow_mappings_free(&maps);
		return;
	}
	f->nr_listed = maps.nr;
	for (p = maps.list; p < maps.list + maps.nr; p++) {
		off = is_of_file(m) ? p->off : 0;
		if (same_object(m, p) && p->readable && off < LARGEST_IMAGE &&
		    off + (p->end - p->start) > size)
			size = off + (p->end - p->start);
	}
	make_room(f, size);
	bytes = f->bytes;
	ow_processmem_open(&mem, c->live, OW_READING_VM);
	for (p = maps.list; bytes && p < maps.list + maps.nr; p++) {
		off = is_of_file(m) ? p->off : 0;
		/* What lies further on wasn't counted. */
		if (same_object(m, p) && p->readable && !p->writable &&
		    off < size) {
			ow_processmem_read(&mem, p->start, bytes + off,
					   p->end - p->start);
			f->nr_read += p->end - p->start;
		}
	}
	ow_processmem_close(&mem);
	ow_mappings_free(&maps);
	f->is_there = bytes;
	if (!bytes && !f->why.code)
		ow_fail(&f->why, OW_CODE_ABSENT,
			"%s: the file mapped is not to be had, nor its memory",
			m->path);
}

/* What a copy counts for; in vain, it is all that it took. */
static uint64_t price_of(const struct fetching *f, uint64_t took_ns)
{
	uint64_t most = COPY_NS + f->nr_listed * MAPPING_NS;

	if (!f->is_there)
		return took_ns;
	most += f->nr_read * BYTE_NS;
	return took_ns < most ? took_ns : most;
}

/* Copy, unless copies of what the user has have taken too long. */
static void fetch_timed(void *arg)
{
	struct fetching *f = arg;
	uint64_t begun = ow_cpu_ns();

	f->own = ow_process_owner(f->c->live);
	f->is_late = !f->is_probe &&
		     !ow_userefforts_left(&copies, f->own.share);
	if (f->is_late)
		return;
	f->how(f);
	ow_userefforts_spend(&copies, f->own.share,
			     price_of(f, ow_cpu_ns() - begun));
}

/* False, and why, if it takes too long, or nothing came of it. */
static bool fetch(struct fetching *f, void (*how)(struct fetching *f),
		  struct ow_error *err)
{
	enum ow_delegation end;

	f->how = how;
	end = ow_reach(fetch_timed, f);
	if (end == OW_DELEGATION_DONE && f->is_late) {
		ow_lose_file(f->m->path, SLOW);
		ow_fail(err, OW_CODE_MEMORY, "%s: " SLOW, f->m->path);
		return false;
	}
	if (end == OW_DELEGATION_DONE && f->is_there)
		return true;
	if (end != OW_DELEGATION_LOST) {
		free(f->bytes);
		ow_owner_give(&f->own, f->own.bytes);
	}
	f->bytes = NULL;
	if (end == OW_DELEGATION_DONE && f->why.code && err)
		*err = f->why;
	else if (end == OW_DELEGATION_DONE)
		ow_fail(err, OW_CODE_ABSENT, "%s: can't be read", f->m->path);
	else if (end == OW_DELEGATION_NONE)
		ow_fail(err, OW_CODE_SYSTEM,
			"%s: can't start a process to read it", f->m->path);
	else
		ow_fail(err, OW_CODE_TIMEOUT, "%s: " SILENT, f->m->path);
	return false;
}

/* The object of what was fetched. */
static struct ow_object *make_object(struct fetching *f, struct ow_error *err)
{
	return ow_object_from_image(f->bytes, f->size, f->own, f->m->path, err);
}

static struct ow_object *open_copy(const struct ow_capture *c,
				   const struct ow_capture_module *m,
				   struct ow_error *err)
{
	struct fetching f = { .c = c, .m = m };

	if (!fetch(&f, fetch_file, err))
		return NULL;
	if (f.bytes)
		return make_object(&f, err);
	ow_fail(err, OW_CODE_UNSUPPORTED, "%s: too large for a copy", m->path);
	return NULL;
}

static struct ow_object *open_image(struct ow_capture *c,
				    const struct ow_capture_module *m,
				    struct ow_error *err)
{
	struct fetching f = { .c = c, .m = m };
	bool is_fetched;

	if (c->nr_listed > MOST_LISTED) {
		ow_fail(err, OW_CODE_ABSENT,
			"%s: the process has too many mappings of files that "
			"can't be opened",
			m->path);
		return NULL;
	}
	is_fetched = fetch(&f, fetch_image, err);
	c->nr_listed += f.nr_listed;
	return is_fetched ? make_object(&f, err) : NULL;
}

/* Devices whose server did not answer, of any process, and until when that counts. */
static struct {
	uint64_t dev, until_ns;
} silent[8];

static bool is_silent(uint64_t dev)
{
	size_t i;

	for (i = 0; i < OW_ARRAY_SIZE(silent); i++)
		if (silent[i].dev == dev && ow_now_ns() < silent[i].until_ns)
			return true;
	return false;
}

static void note_silent(uint64_t dev)
{
	size_t i, oldest = 0;

	for (i = 1; i < OW_ARRAY_SIZE(silent); i++)
		if (silent[i].until_ns < silent[oldest].until_ns)
			oldest = i;
	silent[oldest].dev = dev;
	silent[oldest].until_ns = ow_now_ns() + SILENT_NS;
}

/* The device of files that are memory (memfd_create(2)), or 0. */
static uint64_t memory_dev(void)
{
	static uint64_t found;
	_cleanup_(ow_closep) int fd = -1;
	struct stat st;

	if (found)
		return found;
	fd = memfd_create("outwind", MFD_CLOEXEC);
	if (fd >= 0 && fstat(fd, &st) == 0)
		found = st.st_dev;
	return found;
}

/*
 * Return true if the file may be opened here; else *ret is the object of a copy, or
 * NULL and why.  A server that does not answer is asked once a minute.
 */
static bool may_open(struct ow_capture *c, const struct ow_capture_module *m,
		     struct ow_object **ret, struct ow_error *err)
{
	struct fetching f = { .c = c, .m = m };
	struct ow_error why = { 0 };
	enum ow_servedfs served;

	*ret = NULL;
	if (major(m->dev) != 0 || m->dev == c->local_dev ||
	    m->dev == memory_dev())
		return true;
	served = ow_servedfs_of(c->live, m->dev);
	if (served == OW_SERVEDFS_LOCAL) {
		c->local_dev = m->dev;
		return true;
	}
	if (ow_reach_is_spent()) {
		ow_lose_file(m->path, OW_REACH_SPENT);
		ow_fail(err, OW_CODE_TIMEOUT, "%s: " OW_REACH_SPENT, m->path);
		return false;
	}
	if (is_silent(m->dev)) {
		ow_fail(err, OW_CODE_TIMEOUT, "%s: " SILENT, m->path);
		return false;
	}
	f.is_probe = served == OW_SERVEDFS_REMOTE;
	if (!fetch(&f, fetch_file, &why)) {
		/* Its memory would be asked of the same server. */
		if (why.code == OW_CODE_TIMEOUT)
			note_silent(m->dev);
		else if (why.code != OW_CODE_FORMAT)
			*ret = open_image(c, m, &why);
		if (!*ret && err)
			*err = why;
		return false;
	}
	if (!f.bytes)
		return true;
	*ret = make_object(&f, err);
	return false;
}

/* The object of the file that a module is mapped from, or else NULL and why. */
static struct ow_object *open_as_file(struct ow_capture *c,
				      struct ow_capture_module *m,
				      struct ow_error *err)
{
	_cleanup_(ow_closep) int fd = -1;
	struct ow_object *obj;

	if (!may_open(c, m, &obj, err))
		return obj;
	fd = open_here(c, m);
	if (fd < 0 && errno == OW_LEASED)
		ow_lose_file(m->path, OW_LOST_LEASED);
	if (fd < 0 && (errno == EMFILE || errno == ENFILE))
		ow_lose_file("files that are mapped", strerror(errno));
	if (fd < 0 && errno == EREMOTE)
		return open_copy(c, m, err);
	if (fd < 0)
		return open_image(c, m, err);
	obj = ow_object_open_fd(fd, m->path, err);
	if (obj && c->use_tables && ow_object_keep_fd(obj, fd))
		fd = -1;
	return obj;
}

struct ow_object *ow_procobject_open(struct ow_capture *c,
				     struct ow_capture_module *m,
				     struct ow_error *err)
{
	struct ow_object *obj;

	if (!is_of_file(m))
		return open_image(c, m, err);
	obj = open_as_file(c, m, err);
	m->is_other = obj && ow_copiedup_is(c->live, m->start, m->off, obj);
	if (!m->is_other)
		return obj;
	ow_object_close(obj);
	return open_image(c, m, err);
}

/* The file that a module is mapped from; or -1, and why. */
static int open_kept(struct ow_capture *c, const struct ow_capture_module *m,
		     struct ow_error *err)
{
	struct ow_object *copy = NULL;
	bool is_here = may_open(c, m, &copy, err);
	int fd = is_here ? open_here(c, m) : -1;
	bool is_served = copy || (is_here && fd < 0 && errno == EREMOTE);

	ow_object_close(copy);
	if (fd >= 0 && ow_identity_is_kept(fd))
		return fd;
	if (fd >= 0 || is_served)
		ow_fail(err, OW_CODE_UNSUPPORTED, "%s: " OW_TABLE_NOT_KEPT,
			m->path);
	else if (is_here)
		ow_fail(err, OW_CODE_PERMISSION,
			"%s: no table: the file that process %d has mapped "
			"can't be opened",
			m->path, c->pid);
	ow_closep(&fd);
	return -1;
}

int ow_capture_make_table(struct ow_capture *c, size_t i,
			  struct ow_table_stats *stats, struct ow_error *err)
{
	_cleanup_(ow_closep) int fd = -1;
	const struct ow_capture_module *m, **known;

	if (i >= c->nr_modules)
		return ow_fail(err, OW_CODE_ARGUMENT, "no module %zu", i);
	m = &c->modules[i];
	if (c->open != ow_procobject_open || !is_of_file(m))
		return ow_fail(err, OW_CODE_UNSUPPORTED,
			       "%s: no file that a process has mapped",
			       m->path);
	known = tsearch(m, &c->tabled, ow_capture_file_order);
	if (known && *known != m)
		return 1;
	fd = open_kept(c, m, err);
	return fd < 0 ? -OW_CODE_ABSENT :
			ow_tablefile_make(fd, m->path, stats, err);
}
