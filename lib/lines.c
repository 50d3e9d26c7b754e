// SPDX-License-Identifier: BSD-2-Clause
#include "lines.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "budget.h"
#include "debugfile.h"
#include "dwarfimage.h"
#include "error.h"
#include "grow.h"
#include "object.h"
#include "scopes.h"
#include "spans.h"

/* Ranges that are looked at for one address: those of units don't overlap. */
#define MOST_OVERLAPS 256

/*
 * DIEs, and ranges, that are looked at in an object; a second has time for some
 * thirty million of them.
 */
#define MOST_WORK ((uint64_t)1 << 28)

/* Addresses of one unit.  .debug_aranges has not those of every compiler. */
struct range {
	struct ow_span span; /* first */
	Dwarf_Off unit;      /* of its DIE, that has the lines */
};

/* DWARF in one file, by libdw on bytes that are mapped already. */
struct dwarf {
	uint8_t *image; /* or NULL if the object's bytes are used in place */
	Elf *elf;
	Dwarf *dw;
};

struct ow_lines {
	struct ow_object *debug, *alt; /* or NULL; owned */
	struct dwarf main, shared;     /* shared by dwz, where alt is */
	struct range *ranges;
	size_t nr, room;
	struct ow_scopes scopes;
	size_t own; /* bytes taken from the budget */
};

static bool dwarf_init(struct dwarf *d, const struct ow_object *obj,
		       size_t *own)
{
	char *bytes = (char *)obj->bytes;
	size_t size = obj->size;

	if (ow_dwarfimage_is_needed(obj)) {
		d->image = ow_dwarfimage_make(obj, own, &size);
		if (!d->image)
			return false;
		bytes = (char *)d->image;
	}
	elf_version(EV_CURRENT);
	d->elf = elf_memory(bytes, size);
	if (d->elf)
		d->dw = dwarf_begin_elf(d->elf, DWARF_C_READ, NULL);
	return d->dw;
}

static void dwarf_deinit(struct dwarf *d)
{
	dwarf_end(d->dw);
	elf_end(d->elf);
	free(d->image);
}

/* A .debug_info in the object goes before one in another file. */
static const struct ow_object *
find_dwarf(struct ow_lines *l, const struct ow_object *obj, bool use_debuginfod)
{
	struct ow_elf_section sec;

	if (ow_object_section(obj, ".debug_info", &sec) ||
	    ow_object_section(obj, ".zdebug_info", &sec))
		return obj;
	l->debug = ow_debugfile_open(obj, obj->root, use_debuginfod);
	return l->debug;
}

static void find_shared(struct ow_lines *l, const struct ow_object *from,
			const char *root, bool use_debuginfod)
{
	_cleanup_(ow_freep) char *path = NULL;
	const char *name = NULL;
	const void *id = NULL;
	ssize_t size = dwelf_dwarf_gnu_debugaltlink(l->main.dw, &name, &id);

	if (size <= 0)
		return;
	if (asprintf(&path, "%s%s", from->root ? from->root : "", from->path) <
	    0) {
		path = NULL;
		return;
	}
	l->alt = ow_debugfile_open_alt(name, path, id, size, root,
				       use_debuginfod);
	if (l->alt && dwarf_init(&l->shared, l->alt, &l->own))
		dwarf_setalt(l->main.dw, l->shared.dw);
}

static bool add_range(struct ow_lines *l, uint64_t start, uint64_t end,
		      Dwarf_Off unit)
{
	size_t before = l->room;

	/* Sections that the linker dropped were left at 0. */
	if (start >= end || start == 0)
		return true;
	if (!ow_grow(&l->ranges, &l->room, l->nr + 1, sizeof(*l->ranges)) ||
	    !ow_budget_take(&l->own, (l->room - before) * sizeof(*l->ranges)))
		return false;
	l->ranges[l->nr++] = (struct range){ { start, end, 0 }, unit };
	return true;
}

static bool add_unit(struct ow_lines *l, Dwarf_Die *die)
{
	Dwarf_Addr base, start, end;
	ptrdiff_t at = 0;

	while ((at = dwarf_ranges(die, at, &base, &start, &end)) > 0) {
		/* Units may share their ranges. */
		if (l->scopes.work_left == 0)
			return false;
		l->scopes.work_left--;
		if (!add_range(l, start, end, dwarf_dieoffset(die)))
			return false;
	}
	return true;
}

static int compare(const void *a, const void *b)
{
	const struct range *r = a, *s = b;

	if (r->span.start != s->span.start)
		return r->span.start < s->span.start ? -1 : 1;
	return (r->unit > s->unit) - (r->unit < s->unit);
}

static struct ow_spans spans_of(const struct ow_lines *l)
{
	return (struct ow_spans){ l->ranges, l->nr, sizeof(*l->ranges),
				  MOST_OVERLAPS };
}

static bool index_units(struct ow_lines *l)
{
	struct ow_spans spans;
	Dwarf_CU *cu = NULL;
	Dwarf_Die die;
	uint8_t type;

	while (dwarf_get_units(l->main.dw, cu, &cu, NULL, &type, &die, NULL) ==
	       0)
		if ((type == DW_UT_compile || type == DW_UT_skeleton) &&
		    !add_unit(l, &die))
			return false;
	if (l->nr > 0)
		qsort(l->ranges, l->nr, sizeof(*l->ranges), compare);
	spans = spans_of(l);
	ow_spans_link(&spans);
	return l->nr > 0;
}

struct ow_lines *ow_lines_create(const struct ow_object *obj,
				 bool use_debuginfod)
{
	struct ow_lines *l = calloc(1, sizeof(*l));
	const struct ow_object *from;

	if (!l)
		return NULL;
	l->scopes.work_left = MOST_WORK;
	from = find_dwarf(l, obj, use_debuginfod);
	if (from && dwarf_init(&l->main, from, &l->own)) {
		find_shared(l, from, obj->root, use_debuginfod);
		if (index_units(l))
			return l;
		if (l->nr > 0)
			ow_budget_refuse(obj->path, "an index of its DWARF");
	}
	ow_lines_destroy(l);
	return NULL;
}

bool ow_lines_is_cut(const struct ow_lines *l)
{
	return ow_object_is_cut(l->debug) || ow_object_is_cut(l->alt);
}

void ow_lines_destroy(struct ow_lines *l)
{
	if (!l)
		return;
	ow_scopes_deinit(&l->scopes);
	dwarf_deinit(&l->main);
	dwarf_deinit(&l->shared);
	ow_object_close(l->debug);
	ow_object_close(l->alt);
	free(l->ranges);
	ow_budget_give(&l->own, l->own);
	free(l);
}

/* The DIE of the unit that covers vaddr with the range that begins last. */
static bool find_unit(const struct ow_lines *l, uint64_t vaddr, Dwarf_Die *ret)
{
	struct ow_spans spans = spans_of(l);
	size_t at = l->nr;
	const struct range *r = ow_spans_before(&spans, vaddr, &at);

	return r && dwarf_offdie(l->main.dw, r->unit, ret);
}

static void set_line(struct ow_line *call, Dwarf_Die *unit, uint64_t vaddr)
{
	Dwarf_Line *line = dwarf_getsrc_die(unit, vaddr);
	int n;

	if (!line)
		return;
	call->file = dwarf_linesrc(line, NULL, NULL);
	if (dwarf_lineno(line, &n) == 0)
		call->line = n;
	if (dwarf_linecol(line, &n) == 0)
		call->column = n;
}

static unsigned int number(Dwarf_Die *die, unsigned int name)
{
	Dwarf_Attribute attr;
	Dwarf_Word value;

	if (!dwarf_attr(die, name, &attr) ||
	    dwarf_formudata(&attr, &value) != 0 || value != (unsigned int)value)
		return 0;
	return (unsigned int)value;
}

/* Where the inlined function die was called. */
static void set_call_site(struct ow_line *call, Dwarf_Die *unit, Dwarf_Die *die)
{
	unsigned int file = number(die, DW_AT_call_file);
	Dwarf_Files *files;
	size_t nr;

	if (file > 0 && dwarf_getsrcfiles(unit, &files, &nr) == 0 && file < nr)
		call->file = dwarf_filesrc(files, file, NULL, NULL);
	call->line = number(die, DW_AT_call_line);
	call->column = number(die, DW_AT_call_column);
}

static const char *linked_name(Dwarf_Die *die)
{
	Dwarf_Attribute attr;
	const char *name = NULL;

	if (dwarf_attr_integrate(die, DW_AT_linkage_name, &attr) ||
	    dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attr))
		name = dwarf_formstring(&attr);
	return name ? name : dwarf_diename(die);
}

/* The functions lead outwards; the last call is no inline. */
static size_t fill(Dwarf_Die *unit, Dwarf_Die *functions, size_t nr,
		   struct ow_line *calls)
{
	struct ow_line next = calls[0];

	for (size_t i = 0; i < nr; i++) {
		calls[i] = next;
		calls[i].function = linked_name(&functions[i]);
		calls[i].is_inline = dwarf_tag(&functions[i]) ==
				     DW_TAG_inlined_subroutine;
		if (!calls[i].is_inline)
			dwarf_entrypc(&functions[i], &calls[i].start);
		next = (struct ow_line){ 0 };
		set_call_site(&next, unit, &functions[i]);
	}
	return nr ? nr : 1;
}

size_t ow_lines_find(struct ow_lines *l, uint64_t vaddr, struct ow_line *calls,
		     size_t max)
{
	Dwarf_Die unit, split, *full = &unit;
	Dwarf_Die functions[OW_LINES_MOST];
	uint8_t type;

	if (!find_unit(l, vaddr, &unit))
		return 0;
	/* -gsplit-dwarf: lines are in the skeleton, functions in the .dwo. */
	if (dwarf_cu_info(unit.cu, NULL, &type, NULL, &split, NULL, NULL,
			  NULL) == 0 &&
	    type == DW_UT_skeleton && dwarf_tag(&split) == DW_TAG_compile_unit)
		full = &split;
	calls[0] = (struct ow_line){ 0 };
	set_line(&calls[0], &unit, vaddr);
	if (max > OW_LINES_MOST)
		max = OW_LINES_MOST;
	max = ow_scopes_find(&l->scopes, full, vaddr, functions, max);
	return fill(full, functions, max, calls);
}
