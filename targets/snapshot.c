// SPDX-License-Identifier: BSD-2-Clause
/* A snapshot file: a capture as it was saved; see snapformat.h. */
#include "snapshot.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "arch.h"
#include "budget.h"
#include "error.h"
#include "filemap.h"
#include "snapkept.h"

#define LONGEST_PATH 65536 /* bytes; a path of Linux' has 4096 mostly */

/* A capture under construction. */
struct taking {
	struct ow_capture *c;
	const struct ow_snap *snap;
	struct ow_snap_meta meta;
	struct ow_region *pieces; /* all, as they stand in the file */
	size_t text_left;         /* bytes that threads' texts may have */
	uint8_t columns[64];      /* of registers: their slots */
	struct ow_error *err;
};

static int bad(const struct taking *t, const char *what, uint64_t i)
{
	return ow_fail(t->err, OW_CODE_FORMAT, "%s %llu makes no sense", what,
		       (unsigned long long)i);
}

static int no_memory(const struct taking *t)
{
	return ow_fail(t->err, OW_CODE_MEMORY, "out of memory");
}

/* Zeroed memory for a list and one more of size bytes, or NULL: err has why. */
static void *make_list(const struct taking *t, const char *what, uint64_t nr,
		       size_t size)
{
	void *list;

	if (!ow_capture_take_memory(t->c, nr, size)) {
		ow_fail(t->err, OW_CODE_MEMORY,
			"%s would take more memory than they may "
			"(--memory-limit)",
			what);
		return NULL;
	}
	list = calloc(nr + 1, size);
	if (!list)
		no_memory(t);
	return list;
}

static int take_meta(struct taking *t)
{
	const struct ow_snap *s = t->snap;
	struct ow_capture *c = t->c;
	const char *text;

	ow_snap_get(s, OW_SNAP_META, 0, &t->meta, sizeof(t->meta));
	c->target.arch = ow_arch_find(t->meta.machine, t->meta.word == 8);
	if (!c->target.arch || t->meta.word != c->target.arch->word)
		return ow_fail(t->err, OW_CODE_UNSUPPORTED,
			       "of a machine that outwind doesn't know (%u)",
			       t->meta.machine);
	c->target.pc_mask = t->meta.pc_mask;
	c->pid = t->meta.pid;
	c->stats = (struct ow_capture_stats){
		.freeze_ns = t->meta.freeze_ns,
		.longest_ns = t->meta.longest_ns,
		.bytes_copied = t->meta.bytes_copied,
		.stopped = t->meta.stopped,
		.sleeps = t->meta.sleeps,
	};
	text = ow_snap_text(s, t->meta.program);
	if (text && !(c->program = strdup(text)))
		return no_memory(t);
	c->jit_path = ow_snap_text(s, t->meta.jit_path);
	if (!c->jit_path)
		return 0;
	c->jit_names = (const char *)s->sections[OW_SNAP_JIT_NAMES].bytes;
	c->jit_names_size = s->sections[OW_SNAP_JIT_NAMES].nr;
	return 0;
}

/* Columns that outwind doesn't know are left out. */
static int take_columns(struct taking *t)
{
	const struct ow_arch *arch = t->c->target.arch;
	uint32_t off, i, slot;
	const char *name;

	memset(t->columns, OW_SLOT_NONE, sizeof(t->columns));
	for (i = 0;
	     ow_snap_get(t->snap, OW_SNAP_REG_NAMES, i, &off, sizeof(off));
	     i++) {
		name = ow_snap_text(t->snap, off);
		if (!name || i >= sizeof(t->columns))
			return bad(t, "register", i);
		for (slot = 0; slot < arch->nr_regs; slot++)
			if (strcmp(arch->names[slot], name) == 0)
				t->columns[i] = (uint8_t)slot;
	}
	return 0;
}

static int take_pieces(struct taking *t)
{
	const uint8_t *at = t->snap->sections[OW_SNAP_MEMORY].bytes;
	uint64_t left = t->snap->sections[OW_SNAP_MEMORY].nr, end = 0, i;
	uint64_t nr = t->snap->sections[OW_SNAP_PIECES].nr;
	struct ow_snap_piece p;

	if (t->meta.nr_shared > nr)
		return bad(t, "number of pieces,", nr);
	t->pieces =
		make_list(t, "its pieces of memory", nr, sizeof(*t->pieces));
	if (!t->pieces)
		return -OW_CODE_MEMORY;
	t->c->regions = make_list(t, "its pieces of memory", nr,
				  sizeof(*t->c->regions));
	if (!t->c->regions)
		return -OW_CODE_MEMORY;
	for (i = 0; ow_snap_get(t->snap, OW_SNAP_PIECES, i, &p, sizeof(p));
	     i++) {
		if (p.size == 0 || p.size > left || p.start + p.size < p.start)
			return bad(t, "piece of memory", i);
		t->pieces[i] = (struct ow_region){ .start = p.start,
						   .size = p.size,
						   .bytes = at };
		at += p.size;
		left -= p.size;
		if (i >= t->meta.nr_shared)
			continue;
		if (p.start < end)
			return bad(t, "piece of memory", i);
		end = p.start + p.size;
		t->c->regions[t->c->nr_regions++] = t->pieces[i];
	}
	if (left)
		return bad(t, "number of pieces,", nr);
	return 0;
}

static int take_regs(const struct taking *t, const struct ow_snap_thread *rec,
		     struct ow_regs *regs)
{
	const struct ow_arch *arch = t->c->target.arch;
	uint64_t value, i = rec->regs;
	unsigned int column;

	for (column = 0; column < sizeof(t->columns); column++) {
		if (!(rec->known >> column & 1))
			continue;
		if (!ow_snap_get(t->snap, OW_SNAP_REGS, i++, &value,
				 sizeof(value)))
			return -1;
		if (t->columns[column] != OW_SLOT_NONE)
			ow_regs_set(regs, t->columns[column],
				    value & ow_arch_mask(arch));
	}
	/* A walk begins with these. */
	return ow_regs_known(regs, arch->pc) && ow_regs_known(regs, arch->sp) ?
		       0 :
		       -1;
}

static int take_stack(const struct taking *t, const struct ow_snap_thread *rec,
		      struct ow_window *stack)
{
	const struct ow_region *p;
	uint64_t skip;

	if (rec->piece == OW_SNAP_NONE)
		return 0;
	if (rec->piece >= t->snap->sections[OW_SNAP_PIECES].nr)
		return -1;
	p = &t->pieces[rec->piece];
	skip = rec->stack - p->start;
	if (skip > p->size || rec->stack_size > p->size - skip)
		return -1;
	*stack = (struct ow_window){ rec->stack, rec->stack_size,
				     p->bytes + skip };
	return 0;
}

/*
 * A thread's text, or NULL.  Each has its own in what outwind writes: more in all than
 * there are bytes of texts is no thread's.
 */
static bool take_text(struct taking *t, uint32_t off, const char **ret)
{
	*ret = ow_snap_text(t->snap, off);
	if (!*ret)
		return true;
	t->text_left -= strnlen(*ret, t->text_left);
	return t->text_left > 0;
}

static bool take_info(struct taking *t, const struct ow_snap_thread *rec,
		      struct ow_thread *info)
{
	const char *name, *why;

	*info = (struct ow_thread){
		.tid = rec->tid,
		.state = rec->state > ' ' && rec->state < 0x7f ?
				 (char)rec->state :
				 '?',
		.captured = rec->flags & OW_SNAP_CAPTURED,
		.stopped = rec->flags & OW_SNAP_STOPPED,
		.certain = rec->flags & OW_SNAP_CERTAIN,
		.syscall_nr = rec->syscall_nr,
		.syscall_abi = rec->syscall_abi < OW_CALL_UNKNOWN ?
				       (enum ow_call_abi)rec->syscall_abi :
				       OW_CALL_UNKNOWN,
	};
	memcpy(info->syscall_args, rec->syscall_args,
	       sizeof(info->syscall_args));
	if (!take_text(t, rec->name, &name) ||
	    !take_text(t, rec->why_text, &why) ||
	    !take_text(t, rec->wchan, &info->wchan) ||
	    !take_text(t, rec->kernel_stack, &info->kernel_stack))
		return false;
	snprintf(info->name, sizeof(info->name), "%s", name ? name : "");
	if (!rec->why)
		return true;
	info->why.code = rec->why;
	info->why.os_errno = rec->why_errno;
	snprintf(info->why.msg, sizeof(info->why.msg), "%s", why ? why : "");
	return true;
}

static int take_threads(struct taking *t)
{
	uint64_t nr = t->snap->sections[OW_SNAP_THREADS].nr, i;
	struct ow_capture_thread *to;
	struct ow_snap_thread rec;

	t->text_left = t->snap->sections[OW_SNAP_STRINGS].nr;
	t->c->threads = make_list(t, "its threads", nr, sizeof(*t->c->threads));
	if (!t->c->threads)
		return -OW_CODE_MEMORY;
	for (i = 0; i < nr; i++) {
		ow_snap_get(t->snap, OW_SNAP_THREADS, i, &rec, sizeof(rec));
		to = &t->c->threads[t->c->nr_threads++];
		to->are_texts_lent = true;
		if (!take_info(t, &rec, &to->info))
			return bad(t, "text of thread", i);
		if (to->info.captured && (take_regs(t, &rec, &to->regs) ||
					  take_stack(t, &rec, &to->stack)))
			return bad(t, "thread", i);
	}
	if (nr == 0)
		return ow_fail(t->err, OW_CODE_FORMAT, "it has no threads");
	return 0;
}

/* Paths stay in the snapshot, or are the one that the user gave. */
static bool take_path(const struct taking *t, struct ow_capture_module *m,
		      const char *path)
{
	const struct ow_snapkept *k = t->c->priv;

	if (strnlen(path, LONGEST_PATH + 1) > LONGEST_PATH)
		return false;
	m->is_given = k->exe && t->c->program &&
		      strcmp(path, t->c->program) == 0;
	m->path = m->is_given ? k->exe : (char *)path;
	m->is_path_lent = true;
	return true;
}

static int take_modules(struct taking *t)
{
	uint64_t nr = t->snap->sections[OW_SNAP_MODULES].nr, i, k;
	struct ow_capture_module *m;
	struct ow_snap_module rec;
	const char *path;

	t->c->modules = make_list(t, "its objects", nr, sizeof(*t->c->modules));
	if (!t->c->modules)
		return -OW_CODE_MEMORY;
	for (i = 0; i < nr; i++) {
		ow_snap_get(t->snap, OW_SNAP_MODULES, i, &rec, sizeof(rec));
		path = ow_snap_text(t->snap, rec.path);
		m = &t->c->modules[i];
		if (!path || rec.start >= rec.end ||
		    rec.build_id_size > OW_BUILD_ID_MAX ||
		    !take_path(t, m, path))
			return bad(t, "object", i);
		t->c->nr_modules++;
		m->start = rec.start;
		m->end = rec.end;
		m->off = rec.off;
		m->dev = rec.dev;
		m->inode = rec.inode;
		m->base.bias = rec.bias;
		m->deleted = rec.flags & OW_SNAP_DELETED;
		for (k = 0; k < rec.build_id_size; k++)
			sprintf(m->build_id + 2 * k, "%02x", rec.build_id[k]);
	}
	return 0;
}

static int take_ranges(struct taking *t)
{
	uint64_t nr = t->snap->sections[OW_SNAP_RANGES].nr, end = 0, i;
	struct ow_snap_range rec;

	t->c->ranges =
		make_list(t, "its ranges of code", nr, sizeof(*t->c->ranges));
	if (!t->c->ranges)
		return -OW_CODE_MEMORY;
	for (i = 0; i < nr; i++) {
		ow_snap_get(t->snap, OW_SNAP_RANGES, i, &rec, sizeof(rec));
		if (rec.start < end || rec.start >= rec.end ||
		    (rec.module != OW_SNAP_NONE &&
		     rec.module >= t->c->nr_modules))
			return bad(t, "executable range", i);
		end = rec.end;
		t->c->ranges[i] = (struct ow_range){
			rec.start, rec.end,
			rec.module != OW_SNAP_NONE ?
				&t->c->modules[rec.module].base :
				NULL
		};
	}
	t->c->target.map.nr = nr;
	return 0;
}

static int take(struct taking *t)
{
	int failed = take_meta(t);

	if (!failed)
		failed = take_columns(t);
	if (!failed)
		failed = take_pieces(t);
	if (!failed)
		failed = take_threads(t);
	if (!failed)
		failed = take_modules(t);
	if (!failed)
		failed = take_ranges(t);
	if (!failed)
		ow_capture_sort(t->c);
	return failed;
}

static int take_kept(struct ow_capture *c, struct ow_snapkept *k,
		     const char *exe, const struct ow_capture_options *options,
		     struct ow_error *err)
{
	struct taking t = { .c = c, .snap = &k->snap, .err = err };
	int failed;

	c->priv = k;
	c->priv_free = ow_snapkept_free;
	c->open = ow_snapkept_open;
	ow_capture_use_tables(c, options);
	if (options && options->sysroot) {
		k->sysroot = strdup(options->sysroot);
		if (!k->sysroot)
			return no_memory(&t);
	}
	if (exe) {
		k->exe = strdup(exe);
		if (!k->exe)
			return no_memory(&t);
	}
	failed = ow_snap_parse(&k->snap, k->bytes, k->size, err);
	if (!failed)
		failed = ow_snapkept_find_objects(k, c, err);
	if (!failed)
		failed = take(&t);
	free(t.pieces);
	return failed;
}

struct ow_capture *ow_snapshot_take(uint8_t *bytes, size_t size,
				    const char *path, const char *exe,
				    const struct ow_capture_options *options,
				    struct ow_error *err)
{
	struct ow_snapkept *k = calloc(1, sizeof(*k));
	struct ow_capture *c = ow_capture_create(err);
	struct ow_error why = { 0 };

	if (!k || !c) {
		ow_fail(err, OW_CODE_MEMORY, "out of memory");
		free(bytes);
		free(k);
		ow_capture_destroy(c);
		return NULL;
	}
	k->bytes = bytes;
	k->size = size;
	if (!take_kept(c, k, exe, options, &why))
		return c;
	ow_fail(err, why.code, "%s: damaged snapshot: %s", path, why.msg);
	ow_capture_destroy(c);
	return NULL;
}

static struct ow_filemap *map_file(const char *path, size_t *size_ret,
				   struct ow_error *err)
{
	_cleanup_(ow_closep) int fd = ow_open_regular(path);
	struct ow_filemap *map = NULL;
	struct stat st = { 0 };

	if (fd < 0)
		ow_fail_open(err, path, "not a snapshot");
	else if (fstat(fd, &st) || st.st_size == 0)
		ow_fail(err, OW_CODE_FORMAT, "%s: not a snapshot", path);
	else if (!(map = ow_filemap_open(fd, (size_t)st.st_size, path, 0)))
		ow_fail(err, OW_CODE_SYSTEM, "map %s", path);
	*size_ret = (size_t)st.st_size;
	return map;
}

struct ow_capture *ow_capture_snapshot(const char *path, const char *exe,
				       const struct ow_capture_options *options,
				       struct ow_error *err)
{
	struct ow_unpacked sections;
	struct ow_filemap *map;
	struct ow_capture *c;
	size_t size;
	int failed;

	map = map_file(path, &size, err);
	if (!map)
		return NULL;
	failed = ow_snap_unpack(ow_filemap_bytes(map), size, path, &sections,
				err);
	if (ow_filemap_is_cut(map)) {
		ow_snap_unpack_free(&sections);
		failed = ow_fail(err, OW_CODE_FORMAT,
				 "%s: damaged snapshot: cut off, or not "
				 "readable, while it was read",
				 path);
	}
	ow_filemap_close(map);
	if (failed)
		return NULL;
	c = ow_snapshot_take(sections.bytes, sections.size, path, exe, options,
			     err);
	if (c)
		c->budget += sections.room;
	else
		ow_budget_give(&sections.room, sections.room);
	return c;
}
