// SPDX-License-Identifier: BSD-2-Clause
/*
 * A Linux core file: registers in PT_NOTE, memory in PT_LOADs, and the files
 * that were mapped in NT_FILE (Linux, fs/binfmt_elf.c).
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "capture.h"
#include "corenotes.h"
#include "error.h"
#include "fileobject.h"

struct core {
	struct ow_capture *c;
	const char *path; /* of the core */
	const char *exe;  /* given by the user, or NULL */
	struct ow_elf elf;
	struct ow_corenotes notes;
};

/* What lives as long as the capture. */
struct kept {
	void *bytes;
	size_t size;
	char *sysroot;
};

static void free_kept(void *priv)
{
	struct kept *k = priv;

	munmap(k->bytes, k->size);
	free(k->sysroot);
	free(k);
}

static struct ow_cursor segment_bytes(const struct core *core,
				      const struct ow_elf_segment *seg)
{
	uint64_t size = core->elf.size;
	uint64_t n = seg->off < size ? size - seg->off : 0;
	const uint8_t *at = core->elf.bytes + (n ? seg->off : 0);

	if (n > seg->filesz)
		n = seg->filesz;
	return (struct ow_cursor){ at, at + n, false };
}

static void add_region(struct core *core, const struct ow_elf_segment *seg)
{
	struct ow_cursor c = segment_bytes(core, seg);

	if (c.pos < c.end)
		core->c->regions[core->c->nr_regions++] =
			(struct ow_region){ seg->vaddr, c.end - c.pos, c.pos };
}

static const struct ow_core_file *file_at(const struct core *core,
					  uint64_t addr)
{
	size_t i;

	for (i = 0; i < core->notes.nr_files; i++)
		if (addr >= core->notes.files[i].start &&
		    addr < core->notes.files[i].end)
			return &core->notes.files[i];
	return NULL;
}

/* Is this the program itself, which the user may have named? */
static bool is_program(const struct core *core, const struct ow_core_file *f,
		       uint64_t start, uint64_t end)
{
	const struct ow_core_file *main_file = file_at(core, core->notes.entry);

	if (f && main_file)
		return strcmp(f->path, main_file->path) == 0;
	return core->notes.entry >= start && core->notes.entry < end;
}

/* Where the file that has f mapped begins: linkers may shift segments. */
static uint64_t head_of(const struct core *core, const struct ow_core_file *f)
{
	const struct ow_core_file *g = core->notes.files;
	uint64_t head = f->start - f->off;

	for (; g <= f; g++)
		if (g->off == 0 && strcmp(g->path, f->path) == 0)
			head = g->start;
	return head;
}

/* An executable range, and the file it is from, if that is known. */
static int add_module(struct core *core, uint64_t start, uint64_t end)
{
	struct ow_capture *c = core->c;
	const struct ow_core_file *f = file_at(core, start);
	struct ow_capture_module *m = &c->modules[c->nr_modules];
	struct ow_range *range = &c->ranges[c->target.map.nr++];
	const char *path = f ? f->path : NULL;

	*range = (struct ow_range){ start, end, NULL };
	if (start == core->notes.vdso)
		path = "[vdso]";
	m->is_given = core->exe && is_program(core, f, start, end);
	if (m->is_given)
		path = core->exe;
	if (!path)
		return 0;
	m->path = strdup(path);
	if (!m->path)
		return -1;
	m->start = start;
	m->end = end;
	m->off = f ? f->off + (start - f->start) : 0;
	m->head = f ? head_of(core, f) : start;
	m->inode = f != NULL;
	range->module = &m->base;
	c->nr_modules++;
	return 0;
}

/* Does the file have code at that offset? */
static bool has_code(const struct core *core, const struct ow_core_file *f)
{
	bool is_given = core->exe && is_program(core, f, f->start, f->end);
	const struct kept *kept = core->c->priv;
	struct ow_wanted_file w = {
		.path = is_given ? core->exe : f->path,
		.sysroot = is_given ? NULL : kept->sysroot,
	};
	struct ow_object *obj = ow_fileobject_open(&w, NULL);
	struct ow_elf_segment seg;
	bool found = false;
	uint32_t i;

	for (i = 0; obj && ow_elf_segment(&obj->elf, i, &seg); i++)
		if (seg.type == OW_PT_LOAD && seg.flags & OW_PF_X &&
		    f->off >= (seg.off & ~0xfffULL) &&
		    f->off < seg.off + seg.filesz)
			found = true;
	ow_object_close(obj);
	return found;
}

static bool has_range(const struct ow_capture *c, uint64_t start, uint64_t end)
{
	size_t i;

	for (i = 0; i < c->target.map.nr; i++)
		if (c->ranges[i].start < end && start < c->ranges[i].end)
			return true;
	return false;
}

/*
 * gcore leaves out what can be read from files altogether: then the list of
 * files is all that tells where code is.
 */
static int add_unlisted_code(struct core *core)
{
	const struct ow_core_file *f = core->notes.files;
	const struct ow_core_file *end = f + core->notes.nr_files;

	for (; f < end; f++)
		if (f->end > f->start &&
		    !has_range(core->c, f->start, f->end) &&
		    has_code(core, f) && add_module(core, f->start, f->end))
			return -1;
	return 0;
}

static int take_segments(struct core *core, struct ow_error *err)
{
	struct ow_capture *c = core->c;
	struct ow_elf_segment seg;
	uint32_t i, nr = core->elf.phnum;

	for (i = 0; ow_elf_segment(&core->elf, i, &seg); i++)
		if (seg.type == OW_PT_NOTE)
			ow_corenotes_take(&core->notes,
					  segment_bytes(core, &seg));
	nr = i;
	c->regions = calloc(nr + 1, sizeof(*c->regions));
	c->ranges = calloc(nr + core->notes.nr_files + 1, sizeof(*c->ranges));
	c->modules = calloc(nr + core->notes.nr_files + 1, sizeof(*c->modules));
	if (!c->regions || !c->ranges || !c->modules)
		return ow_fail(err, OW_CODE_MEMORY, "out of memory");
	for (i = 0; i < nr && ow_elf_segment(&core->elf, i, &seg); i++) {
		if (seg.type != OW_PT_LOAD || seg.memsz == 0 ||
		    seg.vaddr + seg.memsz < seg.vaddr)
			continue;
		add_region(core, &seg);
		if (seg.flags & OW_PF_X &&
		    add_module(core, seg.vaddr, seg.vaddr + seg.memsz))
			return ow_fail(err, OW_CODE_MEMORY, "out of memory");
	}
	if (add_unlisted_code(core))
		return ow_fail(err, OW_CODE_MEMORY, "out of memory");
	if (core->notes.nr_threads == 0)
		return ow_fail(err, OW_CODE_FORMAT,
			       "%s: no thread's registers are in it",
			       core->path);
	return 0;
}

/* Threads' windows: the region that each one's sp is in. */
static void place_windows(struct ow_capture *c)
{
	struct ow_capture_thread *t;
	const struct ow_region *r;
	uint64_t sp;
	size_t i, k;

	for (i = 0; i < c->nr_threads; i++) {
		t = &c->threads[i];
		sp = t->regs.val[c->target.arch->sp];
		for (k = 0; k < c->nr_regions; k++) {
			r = &c->regions[k];
			if (sp - r->start < r->size)
				t->stack = (struct ow_window){ r->start,
							       r->size,
							       r->bytes };
		}
	}
}

/* The object's image as far as the core holds it; for the vDSO, all of it. */
static struct ow_object *open_image(struct ow_capture *c,
				    struct ow_capture_module *m,
				    struct ow_error *err)
{
	const struct ow_region *r;
	uint8_t *bytes;
	size_t i;

	for (i = 0; i < c->nr_regions; i++) {
		r = &c->regions[i];
		if (r->start != m->head)
			continue;
		bytes = malloc(r->size);
		if (!bytes)
			break;
		memcpy(bytes, r->bytes, r->size);
		return ow_object_from_image(bytes, r->size, m->path, err);
	}
	ow_fail(err, OW_CODE_ABSENT, "%s: not in the core", m->path);
	return NULL;
}

/* The same, if it is of any use. */
static struct ow_object *open_image_with_cfi(struct ow_capture *c,
					     struct ow_capture_module *m)
{
	struct ow_object *obj = open_image(c, m, NULL);

	if (obj && !ow_object_load_cfi(obj, NULL) &&
	    (obj->cfi.hdr_table || obj->cfi.eh_index.nr))
		return obj;
	ow_object_close(obj);
	return NULL;
}

/* The build-id of what was running, if the core has its first page. */
static const uint8_t *build_id_of(const struct ow_capture *c,
				  const struct ow_capture_module *m,
				  size_t *size_ret)
{
	const struct ow_region *r;
	struct ow_elf elf;
	size_t i;

	for (i = 0; i < c->nr_regions; i++) {
		r = &c->regions[i];
		if (r->start == m->head &&
		    !ow_elf_parse(&elf, r->bytes, r->size))
			return ow_elf_build_id(&elf, size_ret);
	}
	return NULL;
}

/*
 * A program without NT_FILE entry was found by its entry point: let the bias
 * follow from that.
 */
static void place_program(struct ow_capture_module *m,
			  const struct ow_object *obj)
{
	struct ow_elf_segment seg;
	uint32_t i;

	for (i = 0; ow_elf_segment(&obj->elf, i, &seg); i++) {
		if (seg.type != OW_PT_LOAD || !(seg.flags & OW_PF_X))
			continue;
		m->off = seg.off & ~0xfffULL;
		return;
	}
}

static struct ow_object *open_object(struct ow_capture *c,
				     struct ow_capture_module *m,
				     struct ow_error *err)
{
	const struct kept *kept = c->priv;
	struct ow_wanted_file w = { .path = m->path };
	struct ow_error why = { 0 };
	struct ow_object *obj;

	if (strcmp(m->path, "[vdso]") == 0)
		return open_image(c, m, err);
	if (!m->is_given)
		w.sysroot = kept->sysroot;
	w.build_id = build_id_of(c, m, &w.build_id_size);
	obj = ow_fileobject_open(&w, &why);
	if (!obj)
		obj = open_image_with_cfi(c, m);
	if (!obj && err)
		*err = why;
	if (obj && m->inode == 0)
		place_program(m, obj);
	return obj;
}

static void *map_core(const char *path, size_t *size_ret, struct ow_error *err)
{
	_cleanup_(ow_closep) int fd = ow_open_regular(path);
	struct stat st;
	bool good = false;
	void *bytes;

	if (fd < 0 && errno == ENOENT)
		ow_fail(err, OW_CODE_ABSENT, "%s: no such file or process",
			path);
	else if (fd < 0 && errno != EINVAL)
		ow_fail(err, OW_CODE_SYSTEM, "open %s", path);
	else if (fd < 0 || fstat(fd, &st) || st.st_size == 0)
		ow_fail(err, OW_CODE_FORMAT, "%s: not a core file", path);
	else
		good = true;
	if (!good)
		return NULL;
	bytes = mmap(NULL, st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (bytes == MAP_FAILED) {
		ow_fail(err, OW_CODE_SYSTEM, "map %s", path);
		return NULL;
	}
	*size_ret = st.st_size;
	return bytes;
}

static int take_core(struct core *core, struct ow_error *err)
{
	struct ow_capture *c = core->c;
	struct kept *kept = c->priv;
	size_t i;
	int failed;

	if (ow_elf_parse(&core->elf, kept->bytes, kept->size) ||
	    core->elf.type != OW_ET_CORE)
		return ow_fail(err, OW_CODE_FORMAT, "%s: not a core file",
			       core->path);
	ow_corenotes_begin(&core->notes, core->elf.arch, core->path);
	c->target.arch = core->elf.arch;
	failed = take_segments(core, err);
	if (failed)
		return failed;
	c->pid = core->notes.pid;
	c->threads = core->notes.threads;
	c->nr_threads = core->notes.nr_threads;
	c->target.pc_mask = core->notes.pc_mask;
	core->notes.threads = NULL;
	ow_capture_sort(c);
	place_windows(c);
	c->program = strdup(core->exe ? core->exe : core->notes.name);
	for (i = 0; i < c->nr_threads; i++)
		snprintf(c->threads[i].info.name,
			 sizeof(c->threads[i].info.name), "%s",
			 core->notes.name);
	return 0;
}

struct ow_capture *ow_capture_core(const char *path, const char *exe,
				   const struct ow_capture_options *options,
				   struct ow_error *err)
{
	struct kept *kept = calloc(1, sizeof(*kept));
	struct core core = { .path = path, .exe = exe };
	int failed;

	if (kept)
		kept->bytes = map_core(path, &kept->size, err);
	else
		ow_fail(err, OW_CODE_MEMORY, "out of memory");
	core.c = kept && kept->bytes ? ow_capture_create(err) : NULL;
	if (!core.c) {
		if (kept && kept->bytes)
			munmap(kept->bytes, kept->size);
		free(kept);
		return NULL;
	}
	core.c->priv = kept;
	core.c->priv_free = free_kept;
	core.c->open = open_object;
	core.c->use_tables = options && options->use_tables;
	if (options && options->sysroot)
		kept->sysroot = strdup(options->sysroot);
	failed = options && options->sysroot && !kept->sysroot ?
			 ow_fail(err, OW_CODE_MEMORY, "out of memory") :
			 take_core(&core, err);
	ow_corenotes_free(&core.notes);
	if (!failed)
		return core.c;
	ow_capture_destroy(core.c);
	return NULL;
}
