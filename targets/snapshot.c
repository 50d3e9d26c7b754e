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
#include "error.h"
#include "filemap.h"
#include "snapkept.h"

/* A capture under construction. */
struct taking {
	struct ow_capture *c;
	const struct ow_snap *snap;
	struct ow_snap_meta meta;
	struct ow_region *pieces; /* all, as they stand in the file */
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
	t->pieces = calloc(nr + 1, sizeof(*t->pieces));
	t->c->regions = calloc(nr + 1, sizeof(*t->c->regions));
	if (!t->pieces || !t->c->regions)
		return no_memory(t);
	for (i = 0; ow_snap_get(t->snap, OW_SNAP_PIECES, i, &p, sizeof(p));
	     i++) {
		if (p.size == 0 || p.size > left || p.start + p.size < p.start)
			return bad(t, "piece of memory", i);
		t->pieces[i] = (struct ow_region){ p.start, p.size, at };
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

/* The capture frees these of each thread. */
static const char *own(const char *text)
{
	return text ? strdup(text) : NULL;
}

static void take_info(const struct taking *t, const struct ow_snap_thread *rec,
		      struct ow_thread *info)
{
	const char *name = ow_snap_text(t->snap, rec->name);
	const char *why = ow_snap_text(t->snap, rec->why_text);

	*info = (struct ow_thread){
		.tid = rec->tid,
		.state = rec->state > ' ' && rec->state < 0x7f ?
				 (char)rec->state :
				 '?',
		.captured = rec->flags & OW_SNAP_CAPTURED,
		.stopped = rec->flags & OW_SNAP_STOPPED,
		.certain = rec->flags & OW_SNAP_CERTAIN,
		.syscall_nr = rec->syscall_nr,
		.wchan = own(ow_snap_text(t->snap, rec->wchan)),
		.kernel_stack = own(ow_snap_text(t->snap, rec->kernel_stack)),
	};
	memcpy(info->syscall_args, rec->syscall_args,
	       sizeof(info->syscall_args));
	snprintf(info->name, sizeof(info->name), "%s", name ? name : "");
	if (!rec->why)
		return;
	info->why.code = rec->why;
	info->why.os_errno = rec->why_errno;
	snprintf(info->why.msg, sizeof(info->why.msg), "%s", why ? why : "");
}

static int take_threads(struct taking *t)
{
	uint64_t nr = t->snap->sections[OW_SNAP_THREADS].nr, i;
	struct ow_capture_thread *to;
	struct ow_snap_thread rec;

	t->c->threads = calloc(nr + 1, sizeof(*t->c->threads));
	if (!t->c->threads)
		return no_memory(t);
	for (i = 0; i < nr; i++) {
		ow_snap_get(t->snap, OW_SNAP_THREADS, i, &rec, sizeof(rec));
		to = &t->c->threads[t->c->nr_threads++];
		take_info(t, &rec, &to->info);
		if (to->info.captured && (take_regs(t, &rec, &to->regs) ||
					  take_stack(t, &rec, &to->stack)))
			return bad(t, "thread", i);
	}
	if (nr == 0)
		return ow_fail(t->err, OW_CODE_FORMAT, "it has no threads");
	return 0;
}

static int take_modules(struct taking *t, const char *exe)
{
	uint64_t nr = t->snap->sections[OW_SNAP_MODULES].nr, i, k;
	struct ow_capture_module *m;
	struct ow_snap_module rec;
	const char *path;

	t->c->modules = calloc(nr + 1, sizeof(*t->c->modules));
	if (!t->c->modules)
		return no_memory(t);
	for (i = 0; i < nr; i++) {
		ow_snap_get(t->snap, OW_SNAP_MODULES, i, &rec, sizeof(rec));
		path = ow_snap_text(t->snap, rec.path);
		if (!path || rec.start >= rec.end ||
		    rec.build_id_size > OW_BUILD_ID_MAX)
			return bad(t, "object", i);
		m = &t->c->modules[t->c->nr_modules++];
		m->is_given = exe && t->c->program &&
			      strcmp(path, t->c->program) == 0;
		m->path = strdup(m->is_given ? exe : path);
		if (!m->path)
			return no_memory(t);
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

	t->c->ranges = calloc(nr + 1, sizeof(*t->c->ranges));
	if (!t->c->ranges)
		return no_memory(t);
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

static int take(struct taking *t, const char *exe)
{
	int failed = take_meta(t);

	if (!failed)
		failed = take_columns(t);
	if (!failed)
		failed = take_pieces(t);
	if (!failed)
		failed = take_threads(t);
	if (!failed)
		failed = take_modules(t, exe);
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
	failed = ow_snap_parse(&k->snap, k->bytes, k->size, err);
	if (!failed)
		failed = take(&t, exe);
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
	struct ow_filemap *map;
	uint8_t *bytes;
	size_t size;

	map = map_file(path, &size, err);
	if (!map)
		return NULL;
	bytes = ow_snap_unpack(ow_filemap_bytes(map), size, path, &size, err);
	if (ow_filemap_is_cut(map)) {
		free(bytes);
		bytes = NULL;
		ow_fail(err, OW_CODE_FORMAT,
			"%s: damaged snapshot: cut off, or not readable, while "
			"it was read",
			path);
	}
	ow_filemap_close(map);
	if (!bytes)
		return NULL;
	return ow_snapshot_take(bytes, size, path, exe, options, err);
}
