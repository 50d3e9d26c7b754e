// SPDX-License-Identifier: BSD-2-Clause
#include "corelinks.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "budget.h"
#include "error.h"
#include "fileobject.h"
#include "leftout.h"

#define PAGE_MASK    0xfffULL
#define MOST_LINKS   4096
#define MOST_DYNAMIC 1024 /* entries of a dynamic section */
#define DT_DEBUG     21

/* Numbers of words: r_debug's map; and link_map's members. */
enum {
	R_MAP = 1,
	L_ADDR = 0,
	L_NAME = 1,
	L_NEXT = 3,
};

static bool read_word(const struct ow_core *core, uint64_t addr, uint64_t *ret)
{
	return !ow_memory_word(&core->c->target.mem, addr, core->elf.arch->word,
			       ret);
}

static bool read_member(const struct ow_core *core, uint64_t addr,
			unsigned int i, uint64_t *ret)
{
	return read_word(core, addr + (uint64_t)i * core->elf.arch->word, ret);
}

/* A path; false if it is empty, too long or not there. */
static bool read_path(const struct ow_core *core, uint64_t addr,
		      char buf[PATH_MAX])
{
	const struct ow_memory *mem = &core->c->target.mem;
	size_t i;

	for (i = 0; i < PATH_MAX; i++) {
		if (mem->read(mem, addr + i, &buf[i], 1))
			return false;
		if (buf[i] == '\0')
			return i > 0;
	}
	return false;
}

/* An executable segment of an object: the piece that it is, or a new one. */
static bool add_segment(struct ow_core *core, const struct ow_corepiece *of,
			const struct ow_elf_segment *seg, uint64_t bias)
{
	struct ow_corepiece piece = *of, *there;

	piece.start = (seg->vaddr + bias) & ~PAGE_MASK;
	piece.end = (seg->vaddr + seg->memsz + bias + PAGE_MASK) & ~PAGE_MASK;
	piece.off = seg->off & ~PAGE_MASK;
	if (piece.end <= piece.start)
		return true;
	there = ow_coremaps_at(core, piece.start, piece.end);
	if (!there)
		return ow_coremaps_add(core, &piece);
	if (there->is_file || there->start > piece.end)
		return true;
	if (there->path && strcmp(there->path, "[vdso]") == 0)
		return true;
	/* One may begin before the other: the file tells what is where. */
	piece.off += there->start - piece.start;
	piece.start = there->start;
	piece.end = there->end;
	piece.path = ow_intern_add(core->paths, of->path);
	if (piece.path)
		*there = piece;
	else
		ow_budget_refuse(core->path, "a list of all its code");
	return true;
}

static bool add_object(struct ow_core *core, const struct ow_object *obj,
		       uint64_t bias, const char *path, bool is_given)
{
	struct ow_corepiece of = {
		.path = path,
		.is_given = is_given,
		.is_file = true,
	};
	struct ow_elf_segment seg;
	uint32_t i;

	if (obj->elf.phnum > OW_MOST_SEGMENTS) {
		ow_leave_out(path, "code in more than 128 segments");
		return true;
	}
	for (i = 0; ow_elf_segment(&obj->elf, i, &seg); i++)
		if (seg.type == OW_PT_LOAD && seg.off == 0)
			of.head = seg.vaddr + bias;
	for (i = 0; ow_elf_segment(&obj->elf, i, &seg); i++)
		if (seg.type == OW_PT_LOAD && seg.flags & OW_PF_X &&
		    !add_segment(core, &of, &seg, bias))
			return false;
	return true;
}

/* What DT_DEBUG of the program holds in memory, or 0. */
static uint64_t find_debug(const struct ow_core *core,
			   const struct ow_object *obj, uint64_t bias)
{
	size_t w = core->elf.arch->word;
	struct ow_elf_segment seg;
	uint64_t at = 0, tag, value;
	uint32_t i;

	for (i = 0; ow_elf_segment(&obj->elf, i, &seg); i++)
		if (seg.type == OW_PT_DYNAMIC)
			at = seg.vaddr + bias;
	for (i = 0; at && i < MOST_DYNAMIC; i++, at += 2 * w) {
		if (!read_word(core, at, &tag) ||
		    !read_word(core, at + w, &value) || tag == 0)
			return 0;
		if (tag == DT_DEBUG)
			return value;
	}
	return 0;
}

static int take_link(struct ow_core *core, uint64_t link)
{
	char path[PATH_MAX];
	uint64_t bias, name;
	struct ow_wanted_file w = { .path = path, .sysroot = core->sysroot };
	struct ow_object *obj;
	bool good;

	/* The program itself has no name, and what isn't a path is the vDSO. */
	if (!read_member(core, link, L_ADDR, &bias) ||
	    !read_member(core, link, L_NAME, &name) ||
	    !read_path(core, name, path) || !strchr(path, '/'))
		return 0;
	obj = ow_fileobject_open(&w, NULL);
	good = !obj || obj->elf.arch != core->elf.arch ||
	       add_object(core, obj, bias, path, false);
	ow_object_close(obj);
	return good ? 0 : -OW_CODE_MEMORY;
}

static int take_links(struct ow_core *core, uint64_t debug)
{
	unsigned int left = MOST_LINKS;
	uint64_t link;
	int failed = 0;

	if (!debug || !read_member(core, debug, R_MAP, &link))
		return 0;
	while (link && left-- > 0 && !failed) {
		failed = take_link(core, link);
		if (!read_member(core, link, L_NEXT, &link))
			break;
	}
	return failed;
}

int ow_corelinks_take(struct ow_core *core, struct ow_error *err)
{
	char path[PATH_MAX] = "";
	struct ow_wanted_file w = { .path = core->exe };
	struct ow_object *obj;
	uint64_t bias;
	int failed = 0;

	if (!core->notes.entry)
		return 0;
	if (!w.path && read_path(core, core->notes.execfn, path)) {
		w.path = path;
		w.sysroot = core->sysroot;
	}
	obj = w.path ? ow_fileobject_open(&w, NULL) : NULL;
	if (obj && obj->elf.arch == core->elf.arch) {
		bias = core->notes.entry - obj->elf.entry;
		if (!add_object(core, obj, bias, w.path, core->exe != NULL))
			failed = -OW_CODE_MEMORY;
		if (!failed)
			failed = take_links(core, find_debug(core, obj, bias));
	}
	ow_object_close(obj);
	if (failed)
		return ow_fail(err, OW_CODE_MEMORY, "out of memory");
	ow_coremaps_sort(core);
	return 0;
}
