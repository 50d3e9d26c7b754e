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
#include "cursor.h"
#include "error.h"
#include "prstatus.h"

enum {
	NT_PRSTATUS = 1,
	NT_PRPSINFO = 3,
	NT_AUXV = 6,
	NT_FILE = 0x46494c45,
	NT_ARM_PAC_MASK = 0x406,

	AT_ENTRY = 9,
	AT_SYSINFO_EHDR = 33,
};

/* struct elf_prstatus and elf_prpsinfo (Linux, include/linux/elfcore.h). */
static const struct notes_layout {
	uint8_t word;
	uint8_t pid, regs; /* in elf_prstatus */
	uint8_t fname;     /* in elf_prpsinfo */
} layouts[] = {
	{ 8, 32, 112, 40 },
	{ 4, 24, 72, 28 },
};

#define FNAME_SIZE 16

/* A file that was mapped. */
struct mapped_file {
	uint64_t start, end, off;
	const char *path;
};

struct core {
	struct ow_capture *c;
	const char *path; /* of the core */
	const char *exe;  /* given by the user, or NULL */
	struct ow_elf elf;
	const struct notes_layout *layout;
	uint64_t entry, vdso; /* addrs, from the auxiliary vector */
	struct mapped_file *files;
	size_t nr_files;
	char name[FNAME_SIZE + 1];
};

/* What lives as long as the capture. */
struct kept {
	void *bytes;
	size_t size;
};

static void free_kept(void *priv)
{
	struct kept *k = priv;

	munmap(k->bytes, k->size);
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

static void add_thread(struct core *core, const struct ow_elf_note *note)
{
	const struct notes_layout *l = core->layout;
	struct ow_capture *c = core->c;
	struct ow_capture_thread *t;
	uint32_t pid;
	void *more;

	if (note->desc_size < l->regs)
		return;
	more = realloc(c->threads, (c->nr_threads + 1) * sizeof(*c->threads));
	if (!more)
		return;
	c->threads = more;
	t = &c->threads[c->nr_threads++];
	memset(t, 0, sizeof(*t));
	memcpy(&pid, note->desc + l->pid, sizeof(pid));
	t->info.tid = (pid_t)pid;
	t->info.state = '?';
	t->info.captured =
		ow_prstatus_regs(core->elf.arch, note->desc + l->regs,
				 note->desc_size - l->regs, &t->regs);
	if (!t->info.captured)
		ow_fail(&t->info.why, OW_CODE_FORMAT,
			"%s: register note is too short", core->path);
	if (c->nr_threads == 1)
		c->pid = t->info.tid;
}

static void take_psinfo(struct core *core, const struct ow_elf_note *note)
{
	const struct notes_layout *l = core->layout;

	if (note->desc_size >= (uint32_t)l->fname + FNAME_SIZE)
		memcpy(core->name, note->desc + l->fname, FNAME_SIZE);
}

static void take_auxv(struct core *core, const struct ow_elf_note *note)
{
	struct ow_cursor c = { note->desc, note->desc + note->desc_size,
			       false };
	uint64_t type, value;

	while (ow_cursor_more(&c)) {
		type = ow_cursor_uint(&c, core->layout->word);
		value = ow_cursor_uint(&c, core->layout->word);
		if (type == AT_ENTRY)
			core->entry = value;
		else if (type == AT_SYSINFO_EHDR)
			core->vdso = value;
	}
}

/* count, page size, count triples of start, end, offset; then the names. */
static void take_files(struct core *core, const struct ow_elf_note *note)
{
	struct ow_cursor c = { note->desc, note->desc + note->desc_size,
			       false };
	size_t w = core->layout->word;
	uint64_t nr = ow_cursor_uint(&c, w), page = ow_cursor_uint(&c, w), i;
	const uint8_t *end;
	struct mapped_file *f;

	if (c.bad || core->files || nr > note->desc_size / (3 * w))
		return;
	core->files = calloc(nr + 1, sizeof(*core->files));
	if (!core->files)
		return;
	for (i = 0; i < nr; i++) {
		f = &core->files[i];
		f->start = ow_cursor_uint(&c, w);
		f->end = ow_cursor_uint(&c, w);
		f->off = ow_cursor_uint(&c, w) * page;
	}
	for (i = 0; i < nr && ow_cursor_more(&c); i++) {
		end = memchr(c.pos, '\0', c.end - c.pos);
		if (!end)
			break;
		core->files[i].path = (const char *)c.pos;
		c.pos = end + 1;
	}
	core->nr_files = c.bad ? 0 : i;
}

static void take_pac_mask(struct core *core, const struct ow_elf_note *note)
{
	uint64_t insn_mask;

	if (note->desc_size < 16)
		return;
	memcpy(&insn_mask, note->desc + 8, sizeof(insn_mask));
	/* Bits that hold the code; bit 55 and up are no address either. */
	core->c->target.pc_mask = ~insn_mask & (((uint64_t)1 << 55) - 1);
}

static void take_notes(struct core *core, struct ow_cursor c)
{
	static const struct {
		uint32_t type;
		void (*take)(struct core *, const struct ow_elf_note *);
	} takers[] = {
		{ NT_PRSTATUS, add_thread },
		{ NT_PRPSINFO, take_psinfo },
		{ NT_AUXV, take_auxv },
		{ NT_FILE, take_files },
		{ NT_ARM_PAC_MASK, take_pac_mask },
	};
	struct ow_elf_note note;
	size_t i;

	while (ow_elf_note(&c, &note))
		for (i = 0; i < sizeof(takers) / sizeof(takers[0]); i++)
			if (takers[i].type == note.type)
				takers[i].take(core, &note);
}

static void add_region(struct core *core, const struct ow_elf_segment *seg)
{
	struct ow_cursor c = segment_bytes(core, seg);

	if (c.pos < c.end)
		core->c->regions[core->c->nr_regions++] =
			(struct ow_region){ seg->vaddr, c.end - c.pos, c.pos };
}

static const struct mapped_file *file_at(const struct core *core, uint64_t addr)
{
	size_t i;

	for (i = 0; i < core->nr_files; i++)
		if (addr >= core->files[i].start && addr < core->files[i].end)
			return &core->files[i];
	return NULL;
}

/* Is this the program itself, which the user may have named? */
static bool is_program(const struct core *core, const struct mapped_file *f,
		       uint64_t start, uint64_t end)
{
	const struct mapped_file *main_file = file_at(core, core->entry);

	if (f && main_file)
		return strcmp(f->path, main_file->path) == 0;
	return core->entry >= start && core->entry < end;
}

/* An executable range, and the file it is from, if that is known. */
static int add_module(struct core *core, uint64_t start, uint64_t end)
{
	struct ow_capture *c = core->c;
	const struct mapped_file *f = file_at(core, start);
	struct ow_capture_module *m = &c->modules[c->nr_modules];
	struct ow_range *range = &c->ranges[c->target.map.nr++];
	const char *path = f ? f->path : NULL;

	*range = (struct ow_range){ start, end, NULL };
	if (start == core->vdso)
		path = "[vdso]";
	if (is_program(core, f, start, end) && core->exe)
		path = core->exe;
	if (!path)
		return 0;
	m->path = strdup(path);
	if (!m->path)
		return -1;
	m->start = start;
	m->end = end;
	m->off = f ? f->off + (start - f->start) : 0;
	m->inode = f != NULL;
	range->module = &m->base;
	c->nr_modules++;
	return 0;
}

/* Does the file have code at that offset? */
static bool has_code(const struct core *core, const struct mapped_file *f)
{
	const char *path = is_program(core, f, f->start, f->end) && core->exe ?
				   core->exe :
				   f->path;
	struct ow_object *obj = ow_object_open(path, NULL);
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
	const struct mapped_file *f = core->files;
	const struct mapped_file *end = f + core->nr_files;

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
			take_notes(core, segment_bytes(core, &seg));
	nr = i;
	c->regions = calloc(nr + 1, sizeof(*c->regions));
	c->ranges = calloc(nr + core->nr_files + 1, sizeof(*c->ranges));
	c->modules = calloc(nr + core->nr_files + 1, sizeof(*c->modules));
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
	if (c->nr_threads == 0)
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
		if (r->start != m->start - m->off)
			continue;
		bytes = malloc(r->size);
		if (!bytes)
			break;
		memcpy(bytes, r->bytes, r->size);
		return ow_object_from_image(bytes, r->size, m->path, err);
	}
	ow_fail(err, OW_CODE_ABSENT, "%s: no such file", m->path);
	return NULL;
}

/* Was another build of the file running?  The core has its first page. */
static bool differs(const struct ow_capture *c,
		    const struct ow_capture_module *m,
		    const struct ow_object *obj)
{
	const struct ow_region *r;
	struct ow_elf elf;
	const uint8_t *id;
	size_t size, i;

	for (i = 0; i < c->nr_regions; i++) {
		r = &c->regions[i];
		if (r->start != m->start - m->off ||
		    ow_elf_parse(&elf, r->bytes, r->size))
			continue;
		id = ow_elf_build_id(&elf, &size);
		return id && (size != obj->build_id_size ||
			      memcmp(id, obj->build_id, size) != 0);
	}
	return false;
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
	struct ow_object *obj;

	if (strcmp(m->path, "[vdso]") == 0)
		return open_image(c, m, err);
	obj = ow_object_open(m->path, err);
	if (!obj)
		return open_image(c, m, err);
	if (m->inode == 0)
		place_program(m, obj);
	if (!differs(c, m, obj))
		return obj;
	ow_fail(err, OW_CODE_ABSENT,
		"%s: another build than the one that was running", m->path);
	ow_object_close(obj);
	return NULL;
}

static void *map_core(const char *path, size_t *size_ret, struct ow_error *err)
{
	_cleanup_(ow_closep) int fd =
		open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	void *bytes;

	if (fd < 0 || fstat(fd, &st)) {
		ow_fail(err, errno == ENOENT ? OW_CODE_ABSENT : OW_CODE_SYSTEM,
			errno == ENOENT ? "%s: no such file or process" :
					  "open %s",
			path);
		return NULL;
	}
	if (!S_ISREG(st.st_mode) || st.st_size == 0) {
		ow_fail(err, OW_CODE_FORMAT, "%s: not a core file", path);
		return NULL;
	}
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
	core->layout = &layouts[core->elf.is_64 ? 0 : 1];
	c->target.arch = core->elf.arch;
	failed = take_segments(core, err);
	if (failed)
		return failed;
	ow_capture_sort(c);
	place_windows(c);
	c->program = strdup(core->exe ? core->exe : core->name);
	for (i = 0; i < c->nr_threads; i++)
		snprintf(c->threads[i].info.name,
			 sizeof(c->threads[i].info.name), "%s", core->name);
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
	failed = take_core(&core, err);
	free(core.files);
	if (!failed)
		return core.c;
	ow_capture_destroy(core.c);
	return NULL;
}
