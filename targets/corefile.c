// SPDX-License-Identifier: BSD-2-Clause
/*
 * A Linux core file: registers in PT_NOTE, memory in PT_LOADs, and the files
 * that were mapped in NT_FILE (Linux, fs/binfmt_elf.c).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture.h"
#include "corebytes.h"
#include "corelinks.h"
#include "coremaps.h"
#include "corenotes.h"
#include "coreobject.h"
#include "err.h"
#include "error.h"
#include "filemap.h"
#include "guestdump.h"
#include "leftout.h"

#define MANY_SEGMENTS 0xffff /* e_phnum says so; section 0 has the number */

/* 16 times the mappings that a process may have by Linux' vm.max_map_count, if nobody
   sets that. */
#define MOST_SEGMENTS (1U << 20)

/* What lives as long as the capture. */
struct kept {
	struct ow_corebytes file;
	struct ow_coreobjects objects;
	bool is_guest;
	struct ow_guest guest; /* if it is one */
};

static void free_kept(void *priv)
{
	struct kept *k = priv;

	ow_guestdump_free(&k->guest);
	ow_corebytes_close(&k->file);
	ow_coreobjects_free(&k->objects);
	free(k);
}

static struct ow_object *open_object(struct ow_capture *c,
				     struct ow_capture_module *m,
				     struct ow_error *err)
{
	struct kept *kept = c->priv;
	struct ow_object *kernel = kept->guest.kernel;

	if (!kept->is_guest)
		return ow_coreobject_open(c, m, &kept->objects, err);
	/* Its other modules share it. */
	kept->guest.kernel = NULL;
	return kernel;
}

static int read_guest(const struct ow_memory *mem, uint64_t addr, void *buf,
		      size_t size)
{
	const struct ow_capture *c = (const struct ow_capture *)mem;
	const struct kept *kept = c->priv;

	return ow_pagetable_read(&kept->guest.table, addr, buf, size) ?
		       0 :
		       -OW_EFAULT;
}

static struct ow_cursor segment_bytes(const struct ow_core *core,
				      const struct ow_elf_segment *seg)
{
	uint64_t size = core->elf.size;
	uint64_t n = seg->off < size ? size - seg->off : 0;
	const uint8_t *at = core->elf.bytes + (n ? seg->off : 0);

	if (n > seg->filesz)
		n = seg->filesz;
	return (struct ow_cursor){ at, at + n, false };
}

/*
 * Section 0 comes last, so that a core that is cut has lost it; but the notes
 * stand right behind the segments' headers.
 */
static void count_lost_segments(struct ow_elf *elf)
{
	uint64_t each = elf->is_64 ? 56 : 32, nr;
	struct ow_elf_segment first;

	if (elf->phnum != MANY_SEGMENTS || elf->shnum != 0 ||
	    !ow_elf_segment(elf, 0, &first) || first.off < elf->phoff)
		return;
	nr = (first.off - elf->phoff) / each;
	if (nr > MANY_SEGMENTS && nr <= elf->size / each)
		elf->phnum = (uint32_t)nr;
}

/* A file is made longer than any process has mappings at no cost. */
static void count_segments(struct ow_core *core)
{
	count_lost_segments(&core->elf);
	if (core->elf.phnum <= MOST_SEGMENTS)
		return;
	ow_leave_out(core->path, "segments after the first 1048576");
	core->elf.phnum = MOST_SEGMENTS;
}

static int bytes_order(const void *a, const void *b)
{
	const struct ow_region *x = a, *y = b;

	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? 1 : -1;
	return (x->start > y->start) - (x->start < y->start);
}

/*
 * Let each byte of the file be in one region: no kernel makes a core of a process
 * otherwise, and what is made of a region is not to be made again and again.
 */
static void share_no_bytes(struct ow_core *core)
{
	struct ow_capture *c = core->c;
	const uint8_t *end = core->elf.bytes;
	struct ow_region *r = c->regions;
	size_t i, skip, nr = 0;

	if (c->nr_regions)
		qsort(r, c->nr_regions, sizeof(*r), bytes_order);
	for (i = 0; i < c->nr_regions; i++) {
		skip = r[i].bytes < end ? (size_t)(end - r[i].bytes) : 0;
		if (skip)
			ow_leave_out(core->path, "memory whose bytes in the "
						 "file are also other memory");
		if (skip >= r[i].size)
			continue;
		r[nr++] = (struct ow_region){ .start = r[i].start + skip,
					      .size = r[i].size - skip,
					      .bytes = r[i].bytes + skip };
		end = r[nr - 1].bytes + r[nr - 1].size;
	}
	c->nr_regions = nr;
}

static int take_regions(struct ow_core *core, struct ow_error *err)
{
	struct ow_capture *c = core->c;
	struct ow_elf_segment seg;
	struct ow_cursor bytes;
	uint32_t i, nr = 0;

	while (ow_elf_segment(&core->elf, nr, &seg))
		nr++;
	c->regions = calloc(nr + 1, sizeof(*c->regions));
	if (!c->regions)
		return ow_fail(err, OW_CODE_MEMORY, "out of memory");
	for (i = 0; i < nr && ow_elf_segment(&core->elf, i, &seg); i++) {
		bytes = segment_bytes(core, &seg);
		if (seg.type == OW_PT_LOAD && bytes.pos < bytes.end &&
		    seg.vaddr + seg.memsz > seg.vaddr)
			c->regions[c->nr_regions++] =
				(struct ow_region){ .start = seg.vaddr,
						    .size = bytes.end -
							    bytes.pos,
						    .bytes = bytes.pos };
	}
	share_no_bytes(core);
	ow_capture_sort(c);
	return 0;
}

static void take_notes(struct ow_core *core)
{
	const uint8_t *end = core->elf.bytes;
	struct ow_elf_segment seg;
	struct ow_cursor bytes;
	uint32_t i;

	ow_corenotes_begin(&core->notes, core->elf.arch);
	/* They stand side by side; what was taken is not taken again. */
	for (i = 0; ow_elf_segment(&core->elf, i, &seg); i++) {
		if (seg.type != OW_PT_NOTE)
			continue;
		bytes = segment_bytes(core, &seg);
		if (bytes.pos >= end)
			ow_corenotes_take(&core->notes, bytes);
		else if (bytes.pos < bytes.end)
			ow_leave_out(core->path, "notes that others overlap");
		if (bytes.end > end)
			end = bytes.end;
	}
	ow_corenotes_sort(&core->notes);
}

/* Threads' windows: the region that each one's sp is in. */
static void place_windows(struct ow_capture *c)
{
	struct ow_capture_thread *t;
	const struct ow_region *r;
	size_t i;

	for (i = 0; i < c->nr_threads; i++) {
		t = &c->threads[i];
		r = ow_capture_region_at(c, t->regs.val[c->target.arch->sp]);
		if (r)
			t->stack = (struct ow_window){ r->start, r->size,
						       r->bytes };
	}
}

static bool is_asked_for(const struct ow_capture_options *options,
			 const struct ow_capture_thread *t, size_t i)
{
	size_t k;

	for (k = 0; k < options->nr_tids; k++)
		if (options->tids[k] == t->info.tid ||
		    (options->tids[k] == 0 && i == 0))
			return true;
	return false;
}

static int select_threads(struct ow_core *core,
			  const struct ow_capture_options *options,
			  struct ow_error *err)
{
	struct ow_capture *c = core->c;
	size_t i, kept = 0;

	if (options && options->states)
		return ow_fail(err, OW_CODE_UNSUPPORTED,
			       "%s: a core file has no states of threads",
			       core->path);
	if (c->nr_threads == 0)
		return ow_fail(err, OW_CODE_FORMAT,
			       "%s: no thread's registers are in it%s%s",
			       core->path, c->warning[0] ? ": " : "",
			       c->warning);
	if (!options || !options->tids)
		return 0;
	for (i = 0; i < c->nr_threads; i++)
		if (is_asked_for(options, &c->threads[i], i))
			c->threads[kept++] = c->threads[i];
	c->nr_threads = kept;
	if (kept > 0)
		return 0;
	return ow_fail(err, OW_CODE_ABSENT, "%s: no thread %d in it",
		       core->path, options->tids[0]);
}

/* The core's names of itself go to the capture. */
static int take_threads(struct ow_core *core,
			const struct ow_capture_options *options,
			struct ow_error *err)
{
	struct ow_capture *c = core->c;
	size_t i;

	c->pid = core->notes.pid;
	c->threads = core->notes.threads;
	c->nr_threads = core->notes.nr_threads;
	c->target.pc_mask = core->notes.pc_mask;
	core->notes.threads = NULL;
	c->program = strdup(core->exe ? core->exe : core->notes.name);
	for (i = 0; i < c->nr_threads; i++)
		if (!c->threads[i].info.name[0])
			snprintf(c->threads[i].info.name,
				 sizeof(c->threads[i].info.name), "%s",
				 core->notes.name);
	place_windows(c);
	return select_threads(core, options, err);
}

/* Say how much of the file isn't there, by what its headers promise. */
static void find_damage(struct ow_core *core)
{
	const struct kept *kept = core->c->priv;
	struct ow_elf_segment seg;
	char *to = core->c->warning;
	uint64_t end = core->elf.size, at, headers;
	uint32_t i;

	for (i = 0; ow_elf_segment(&core->elf, i, &seg); i++) {
		at = seg.off + seg.filesz;
		if (at > end && at >= seg.off)
			end = at;
	}
	headers = core->elf.phoff +
		  (uint64_t)core->elf.phnum * (core->elf.is_64 ? 56 : 32);
	if (headers > end && headers >= core->elf.phoff)
		end = headers;
	if (end > core->elf.size)
		snprintf(to, sizeof(core->c->warning),
			 "truncated: %llu bytes are missing%s%s%s",
			 (unsigned long long)(end - core->elf.size),
			 kept->file.damage[0] ? " (" : "", kept->file.damage,
			 kept->file.damage[0] ? ")" : "");
	else if (kept->file.damage[0])
		snprintf(to, sizeof(core->c->warning), "%s", kept->file.damage);
}

static int take_guest(struct ow_core *core, struct ow_error *err)
{
	struct kept *kept = core->c->priv;

	kept->is_guest = true;
	core->c->target.mem.read = read_guest;
	core->c->target.kernel_start = (uint64_t)1 << 63;
	return ow_guestdump_take(&kept->guest, core, err);
}

static int take_process(struct ow_core *core, struct ow_error *err)
{
	int failed = take_regions(core, err);

	if (!failed)
		failed = ow_coremaps_take(core, err);
	if (!failed && core->notes.nr_files == 0)
		failed = ow_corelinks_take(core, err);
	return failed;
}

#define KDUMP                                                              \
	"kdump-compressed, which outwind doesn't read: dump as plain ELF " \
	"(dump-guest-memory without -z, -l, -s; makedumpfile -E)"

/* Dumps that aren't ELF, and what to do about it. */
static const struct refused {
	const char *magic, *why;
} refused[] = {
	{ "KDUMP   ", KDUMP },
	{ "DISKDUMP", KDUMP },
	{ "makedumpfile", KDUMP },
	{ "BZh", "compressed by bzip2: decompress it first" },
	{ "LZIP", "compressed by lzip: decompress it first" },
};

static int refuse(const struct ow_core *core, const struct ow_corebytes *file,
		  struct ow_error *err)
{
	size_t i, n;

	for (i = 0; i < OW_ARRAY_SIZE(refused); i++) {
		n = strlen(refused[i].magic);
		if (file->size >= n &&
		    memcmp(file->bytes, refused[i].magic, n) == 0)
			return ow_fail(err, OW_CODE_UNSUPPORTED, "%s: %s",
				       core->path, refused[i].why);
	}
	return ow_fail(err, OW_CODE_FORMAT, "%s: not a core file", core->path);
}

static int take_core(struct ow_core *core,
		     const struct ow_capture_options *options,
		     struct ow_error *err)
{
	const struct ow_corebytes *file = &((struct kept *)core->c->priv)->file;
	int failed;

	if (ow_elf_parse(&core->elf, file->bytes, file->size) ||
	    core->elf.type != OW_ET_CORE)
		return refuse(core, file, err);
	count_segments(core);
	core->c->target.arch = core->elf.arch;
	find_damage(core);
	take_notes(core);
	failed = ow_guestdump_is(core) ? take_guest(core, err) :
					 take_process(core, err);
	if (!failed)
		failed = ow_coremaps_finish(core, err);
	if (failed)
		return failed;
	ow_capture_sort(core->c);
	return take_threads(core, options, err);
}

/* A capture that holds the file, or NULL. */
static struct ow_capture *open_core(const char *path,
				    const struct ow_capture_options *options,
				    struct ow_error *err)
{
	struct kept *kept = calloc(1, sizeof(*kept));
	struct ow_capture *c = NULL;
	bool has_memory = kept != NULL;

	if (kept && options && options->sysroot) {
		kept->objects.sysroot = strdup(options->sysroot);
		has_memory = kept->objects.sysroot != NULL;
	}
	if (!has_memory)
		ow_fail(err, OW_CODE_MEMORY, "out of memory");
	else if (!ow_corebytes_open(&kept->file, path, options, err))
		c = ow_capture_create(err);
	if (!c) {
		if (kept)
			free_kept(kept);
		return NULL;
	}
	c->priv = kept;
	c->priv_free = free_kept;
	c->file = kept->file.map;
	c->open = open_object;
	ow_capture_use_tables(c, options);
	return c;
}

struct ow_capture *ow_capture_core(const char *path, const char *exe,
				   const struct ow_capture_options *options,
				   struct ow_error *err)
{
	struct ow_core core = {
		.c = open_core(path, options, err),
		.path = path,
		.exe = exe,
		.sysroot = options ? options->sysroot : NULL,
	};
	int failed;

	if (!core.c)
		return NULL;
	core.paths = &core.c->paths;
	core.notes.c = core.c;
	core.notes.paths = core.paths;
	core.notes.path = path;
	failed = take_core(&core, options, err);
	if (ow_filemap_is_cut(core.c->file))
		failed = ow_fail(err, OW_CODE_FORMAT,
				 "%s: cut off, or not readable, while it was "
				 "read",
				 path);
	ow_corenotes_free(&core.notes);
	ow_coremaps_free(&core);
	if (!failed)
		return core.c;
	ow_capture_destroy(core.c);
	return NULL;
}
