// SPDX-License-Identifier: BSD-2-Clause
#include "coremaps.h"

#include <stdlib.h>

#include "budget.h"
#include "error.h"
#include "fileobject.h"
#include "grow.h"
#include "leftout.h"
#include "remapped.h"

#define HEAD_STEPS 1000 /* mappings looked at for the one of offset 0 */
#define MOST_FILES 4096 /* that are opened to look for code */

/* Bytes of memory of a piece: a list that grows is there twice. */
#define PIECE_COST                                                   \
	(2 * sizeof(struct ow_corepiece) + sizeof(struct ow_range) + \
	 sizeof(struct ow_capture_module))

bool ow_coremaps_add(struct ow_core *core, const struct ow_corepiece *piece)
{
	const char *path = ow_intern_add(core->paths, piece->path);
	struct ow_corepiece *p;

	if (!path != !piece->path ||
	    !ow_capture_take_memory(core->c, 1, PIECE_COST)) {
		ow_budget_refuse(core->path, "a list of all its code");
		return true;
	}
	if (!ow_grow(&core->pieces, &core->room, core->nr_pieces + 1,
		     sizeof(*p)))
		return false;
	p = &core->pieces[core->nr_pieces];
	*p = *piece;
	p->path = path;
	core->nr_pieces++;
	return true;
}

static int piece_order(const void *a, const void *b)
{
	const struct ow_corepiece *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

/* Of two that share addresses, the second one goes. */
static void separate(struct ow_core *core)
{
	struct ow_corepiece *p = core->pieces;
	size_t i, kept = 0;

	for (i = 0; i < core->nr_pieces; i++) {
		if (!kept || p[i].start >= p[kept - 1].end)
			p[kept++] = p[i];
	}
	core->nr_pieces = kept;
}

void ow_coremaps_sort(struct ow_core *core)
{
	if (core->nr_pieces)
		qsort(core->pieces, core->nr_pieces, sizeof(*core->pieces),
		      piece_order);
	separate(core);
	core->nr_sorted = core->nr_pieces;
}

struct ow_corepiece *ow_coremaps_at(struct ow_core *core, uint64_t start,
				    uint64_t end)
{
	size_t low = 0, high = core->nr_sorted, mid;
	struct ow_corepiece *p;

	while (low < high) {
		mid = low + (high - low) / 2;
		p = &core->pieces[mid];
		if (p->start < end && start < p->end)
			return p;
		if (start < p->start)
			high = mid;
		else
			low = mid + 1;
	}
	return NULL;
}

static const struct ow_core_file *file_at(const struct ow_core *core,
					  uint64_t addr)
{
	size_t low = 0, high = core->notes.nr_files, mid;
	const struct ow_core_file *f;

	while (low < high) {
		mid = low + (high - low) / 2;
		f = &core->notes.files[mid];
		if (addr >= f->start && addr < f->end)
			return f;
		if (addr < f->start)
			high = mid;
		else
			low = mid + 1;
	}
	return NULL;
}

/* The file that has been mapped below and above, but not there, or NULL. */
static const struct ow_core_file *file_around(const struct ow_core *core,
					      uint64_t start, uint64_t end)
{
	const struct ow_core_file *below = file_at(core, start - 1);
	const struct ow_core_file *above = file_at(core, end);

	if (!below || !above || below->end != start || above->start != end ||
	    below->path != above->path ||
	    !ow_remapped_between(below->start, below->off, above->start,
				 above->off))
		return NULL;
	return below;
}

/* Is this the program itself, which the user may have named? */
static bool is_program(const struct ow_core *core, const struct ow_core_file *f,
		       uint64_t start, uint64_t end)
{
	const struct ow_core_file *main_file = file_at(core, core->notes.entry);

	if (core->notes.entry == 0)
		return false;
	if (f && main_file)
		return f->path == main_file->path;
	return core->notes.entry >= start && core->notes.entry < end;
}

/* Where the file that has f mapped begins: linkers may shift segments. */
static uint64_t head_of(const struct ow_core *core,
			const struct ow_core_file *f)
{
	const struct ow_core_file *g = f;
	unsigned int steps = HEAD_STEPS;

	for (; steps-- > 0; g--) {
		if (g->off == 0 && g->path == f->path)
			return g->start;
		if (g == core->notes.files)
			break;
	}
	return f->start - f->off;
}

/* An executable range, and the file it is from, if that is known. */
static bool add_range(struct ow_core *core, uint64_t start, uint64_t end)
{
	const struct ow_core_file *f = file_at(core, start);
	struct ow_corepiece p = { .start = start, .end = end, .head = start };

	if (!f)
		f = file_around(core, start, end);
	if (f) {
		p.path = f->path;
		p.off = f->off + (start - f->start);
		p.head = head_of(core, f);
		p.is_file = true;
	}
	if (core->notes.vdso && start == core->notes.vdso)
		p.path = "[vdso]";
	p.is_given = core->exe && is_program(core, f, start, end);
	if (p.is_given)
		p.path = core->exe;
	return ow_coremaps_add(core, &p);
}

/* Return true if the file has code at that offset. */
static bool has_code(const struct ow_object *obj, uint64_t off)
{
	struct ow_elf_segment seg;
	uint32_t i;

	if (!obj || obj->elf.phnum > OW_MOST_SEGMENTS)
		return false;
	for (i = 0; ow_elf_segment(&obj->elf, i, &seg); i++)
		if (seg.type == OW_PT_LOAD && seg.flags & OW_PF_X &&
		    off >= (seg.off & ~0xfffULL) && off < seg.off + seg.filesz)
			return true;
	return false;
}

/* A file that is mapped where no segment tells of code. */
struct unlisted {
	const struct ow_core_file *file;
	const char *path; /* of the file as it is to be opened */
	bool is_given;
};

/* Equal paths next to each other; they are one, so that their order is any. */
static int unlisted_order(const void *a, const void *b)
{
	const struct unlisted *x = a, *y = b;
	uintptr_t p = (uintptr_t)x->path, q = (uintptr_t)y->path;

	return (p > q) - (p < q);
}

static struct unlisted *list_unlisted(struct ow_core *core, size_t *nr_ret)
{
	const size_t nr = core->notes.nr_files;
	struct unlisted *list = calloc(nr + 1, sizeof(*list));
	const struct ow_core_file *f;
	struct unlisted *u;
	size_t i, listed = 0;

	for (i = 0; list && i < nr; i++) {
		f = &core->notes.files[i];
		if (f->end <= f->start ||
		    ow_coremaps_at(core, f->start, f->end))
			continue;
		u = &list[listed++];
		u->file = f;
		u->is_given = core->exe &&
			      is_program(core, f, f->start, f->end);
		u->path = u->is_given ? core->exe : f->path;
	}
	if (listed)
		qsort(list, listed, sizeof(*list), unlisted_order);
	*nr_ret = listed;
	return list;
}

/* Of the files in the list that have one path, take the code. */
static bool add_of_path(struct ow_core *core, const struct unlisted *u,
			size_t nr)
{
	const struct ow_wanted_file w = {
		.path = u->path,
		.sysroot = u->is_given ? NULL : core->sysroot,
	};
	struct ow_object *obj = ow_fileobject_open(&w, NULL);
	bool good = true;
	size_t i;

	for (i = 0; good && i < nr; i++)
		if (has_code(obj, u[i].file->off))
			good = add_range(core, u[i].file->start,
					 u[i].file->end);
	ow_object_close(obj);
	return good;
}

/*
 * gcore leaves out what can be read from files altogether: then the list of
 * files is all that tells where code is.
 */
static bool add_unlisted_code(struct ow_core *core)
{
	_cleanup_(ow_freep) struct unlisted *list = NULL;
	size_t nr, i, same, files = 0;

	list = list_unlisted(core, &nr);
	for (i = 0; list && i < nr; i += same) {
		for (same = 1;
		     i + same < nr && list[i].path == list[i + same].path;)
			same++;
		if (++files > MOST_FILES) {
			ow_leave_out(core->path,
				     "code of more than 4096 files");
			break;
		}
		if (!add_of_path(core, &list[i], same))
			return false;
	}
	return list;
}

int ow_coremaps_take(struct ow_core *core, struct ow_error *err)
{
	const char *exe = NULL;
	struct ow_elf_segment seg;
	uint32_t i;

	if (core->exe)
		exe = ow_intern_add(core->paths, core->exe);
	core->exe = exe ? exe : core->exe;
	for (i = 0; ow_elf_segment(&core->elf, i, &seg); i++)
		if (seg.type == OW_PT_LOAD && seg.memsz > 0 &&
		    seg.vaddr + seg.memsz > seg.vaddr && seg.flags & OW_PF_X &&
		    !add_range(core, seg.vaddr, seg.vaddr + seg.memsz))
			return ow_fail(err, OW_CODE_MEMORY, "out of memory");
	ow_coremaps_sort(core);
	if (!add_unlisted_code(core))
		return ow_fail(err, OW_CODE_MEMORY, "out of memory");
	ow_coremaps_sort(core);
	return 0;
}

static void make_module(struct ow_capture_module *m,
			const struct ow_corepiece *p)
{
	m->path = (char *)p->path;
	m->is_path_lent = true;
	m->start = p->start;
	m->end = p->end;
	m->off = p->off;
	m->head = p->head;
	m->inode = p->is_file;
	m->is_given = p->is_given;
}

int ow_coremaps_finish(struct ow_core *core, struct ow_error *err)
{
	struct ow_capture *c = core->c;
	struct ow_corepiece *p;
	struct ow_range *r;
	size_t i;

	c->ranges = calloc(core->nr_pieces + 1, sizeof(*c->ranges));
	c->modules = calloc(core->nr_pieces + 1, sizeof(*c->modules));
	if (!c->ranges || !c->modules)
		return ow_fail(err, OW_CODE_MEMORY, "out of memory");
	for (i = 0; i < core->nr_pieces; i++) {
		p = &core->pieces[i];
		r = &c->ranges[c->target.map.nr++];
		*r = (struct ow_range){ p->start, p->end, NULL };
		if (!p->path)
			continue;
		r->module = &c->modules[c->nr_modules].base;
		make_module(&c->modules[c->nr_modules++], p);
	}
	ow_coremaps_free(core);
	return 0;
}

void ow_coremaps_free(struct ow_core *core)
{
	free(core->pieces);
	core->pieces = NULL;
	core->nr_pieces = core->nr_sorted = core->room = 0;
}
