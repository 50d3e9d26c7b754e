// SPDX-License-Identifier: BSD-2-Clause
#include "lines.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "budget.h"
#include "debugfile.h"
#include "dwarfimage.h"
#include "effort.h"
#include "error.h"
#include "filemap.h"
#include "grow.h"
#include "leftout.h"
#include "object.h"
#include "owner.h"
#include "ownpath.h"
#include "ranges.h"
#include "scopes.h"
#include "spans.h"
#include "splitfiles.h"
#include "unitcost.h"
#include "userefforts.h"

/* Ranges that are looked at for one address: those of units don't overlap. */
#define MOST_OVERLAPS 256

/*
 * Steps that are taken in a run for all objects of a user, and for one of them, and that
 * come back each second; a second has time for some hundreds of millions.  A look-up takes
 * a quarter of what the user has at most, so that others have something left.
 */
#define RUN_STEPS       ((int64_t)1 << 30)
#define RUN_A_SECOND    ((int64_t)1 << 24)
#define OBJECT_STEPS    ((int64_t)1 << 28)
#define OBJECT_A_SECOND ((int64_t)1 << 22)
#define SHARES          4

static struct ow_userefforts run_efforts =
	OW_USEREFFORTS(RUN_STEPS, RUN_A_SECOND);

/* How often libdw looks at all attributes of a DIE for what is asked of it here. */
#define SCANS      8
#define NAMES_STEP 16 /* bytes of files' names that take a step */

#define PART_STEPS 1000 /* for a part of a path, which is opened */

#define LONGEST_FOLDER 65536 /* bytes of the path that a unit was compiled in */

/*
 * Of libdw 0.188: bytes of an abbreviation in the file, at least, and in memory;
 * bytes for a line while lines are put in order, and afterwards, of tables as
 * compilers write them.
 */
#define MOST_LINKS  16 /* from a DIE to one that has its name */
#define ABBREV_SIZE 5
#define ABBREV_KEPT 64
#define BYTE_STEPS  4 /* for a byte of an abbreviation */
#define UNIT_STEPS  256
#define UNIT_KEPT   1024 /* bytes for a unit, whatever is in it */
#define LINE_MADE   150
#define LINE_KEPT   32

/* Bytes that are copied first, of a unit with its own DIE, and of a line table. */
#define UNIT_HEAD  512
#define TABLE_HEAD 12
#define LAST_VALUE 64      /* the most of a value that is no text or block */
#define HEADS_KEPT 1048576 /* bytes of units whose heads are there */

/* Addresses of one unit.  .debug_aranges has not those of every compiler. */
struct range {
	struct ow_span span; /* first */
	size_t unit;
};

/* For what is read of a unit, before it is. */
enum payment {
	NOT_YET,
	PAID,
	REFUSED,
};

struct unit {
	Dwarf_Off die, end; /* it has the lines */
	Dwarf_Off abbrevs;  /* of its DIEs */

	enum payment abbrevs_paid, lines_paid;
	enum payment split_paid; /* its file's path was looked at */
};

/* DWARF in one file, by libdw on bytes that are mapped already, or a copy. */
struct dwarf {
	struct ow_dwarfimage image; /* none: the object's own bytes */
	Elf *elf;
	Dwarf *dw;
	struct ow_unitcost cost;
};

struct ow_lines {
	const char *path; /* of the object that it is of; borrowed */
	bool in_root;     /* which is not in the system's own folders */
	struct ow_object *from, *alt; /* files that have it; or NULL */
	struct dwarf main, shared;    /* shared by dwz, where alt is */
	struct dwarf none;            /* where libdw would open an alt itself */
	struct range *ranges;
	size_t nr, room;
	struct unit *units;
	size_t nr_units, room_units;
	struct ow_scopes scopes;
	struct ow_effort effort;
	uint64_t share; /* of it, that a look-up has begun with */
	struct ow_splitfiles splits;
	bool is_cut; /* one of these, as libdw opened it */
	struct ow_owner own;
};

static bool dwarf_init(struct dwarf *d, const struct ow_object *obj,
		       struct ow_owner *own)
{
	char *bytes = (char *)obj->bytes;
	size_t size = obj->size;

	if (ow_dwarfimage_is_needed(obj)) {
		if (!ow_dwarfimage_make(&d->image, obj, own))
			return false;
		bytes = (char *)d->image.bytes;
		size = d->image.size;
	}
	ow_unitcost_init(&d->cost, (const uint8_t *)bytes, size);
	d->cost.image = &d->image;
	elf_version(EV_CURRENT);
	d->elf = elf_memory(bytes, size);
	if (d->elf)
		d->dw = dwarf_begin_elf(d->elf, DWARF_C_READ, NULL);
	return d->dw;
}

/*
 * libdw opens what a .gnu_debugaltlink names, whatever that is, for a Dwarf that has
 * no other one yet.
 */
static bool none_init(struct dwarf *d)
{
	size_t size;
	const uint8_t *bytes = ow_dwarfimage_empty(&size);

	d->elf = elf_memory((char *)bytes, size);
	if (d->elf)
		d->dw = dwarf_begin_elf(d->elf, DWARF_C_READ, NULL);
	return d->dw;
}

static void dwarf_deinit(struct dwarf *d)
{
	dwarf_end(d->dw);
	elf_end(d->elf);
	ow_dwarfimage_deinit(&d->image);
}

/* Give a look-up, or the making of the index, what it may take. */
static void begin_work(struct ow_lines *l)
{
	uint64_t own = ow_effort_left(&l->effort);
	uint64_t share =
		ow_userefforts_left(&run_efforts, l->own.share) / SHARES;

	l->share = own < share ? own : share;
	l->scopes.work_left = l->share;
}

static void end_work(struct ow_lines *l)
{
	uint64_t taken = l->share - l->scopes.work_left;

	ow_effort_spend(&l->effort, taken);
	ow_userefforts_spend(&run_efforts, l->own.share, taken);
	if (l->scopes.work_left == 0)
		ow_leave_out(l->path, "the rest of its DWARF, which takes too "
				      "long to look through");
}

/* The bytes of abbreviations that work is left for: no more of them are measured. */
static uint64_t most_abbrevs(const struct ow_lines *l)
{
	return l->scopes.work_left / BYTE_STEPS;
}

/* Pay for abbreviations that libdw is going to read and keep. */
static bool pay_abbrevs(struct ow_lines *l, uint64_t size)
{
	return ow_effort_use(&l->scopes.work_left, size * BYTE_STEPS) &&
	       ow_owner_take(&l->own, size / ABBREV_SIZE * ABBREV_KEPT);
}

/* Pay for a unit that libdw is going to make, and for abbreviations of that size. */
static bool pay_unit(struct ow_lines *l, uint64_t size)
{
	return ow_effort_use(&l->scopes.work_left, UNIT_STEPS) &&
	       ow_owner_take(&l->own, UNIT_KEPT) && pay_abbrevs(l, size);
}

/* The number of a DIE's attributes, or SIZE_MAX. */
static size_t nr_attributes(Dwarf_Die *die)
{
	size_t nr;

	return dwarf_tag(die) != DW_TAG_invalid &&
			       dwarf_getattrcnt(die->abbrev, &nr) == 0 ?
		       nr :
		       SIZE_MAX;
}

/* Pay for some attributes of a DIE. */
static bool pay_attributes(struct ow_lines *l, Dwarf_Die *die)
{
	size_t nr = nr_attributes(die);

	return nr != SIZE_MAX &&
	       ow_effort_use(&l->scopes.work_left, (nr + 1) * (uint64_t)SCANS);
}

/*
 * Have size bytes at off of a section be there, which has so many.  Elsewhere libdw finds
 * zeros, on which it must not rely.
 */
static bool want(struct ow_lines *l, const uint8_t *section, uint64_t has,
		 uint64_t off, uint64_t size)
{
	return off >= has ||
	       ow_dwarfimage_want(&l->main.image, section + off, size);
}

static bool want_unit(struct ow_lines *l, uint64_t off, uint64_t size)
{
	return want(l, l->main.cost.info, l->main.cost.info_size, off, size);
}

static bool want_table(struct ow_lines *l, uint64_t off, uint64_t size)
{
	return want(l, l->main.cost.lines, l->main.cost.lines_size, off, size);
}

/* Note what could not be paid for, if it wasn't work: that is noted at its end. */
static void refuse(const struct ow_lines *l, const char *what)
{
	if (l->scopes.work_left > 0)
		ow_budget_refuse(l->path, what);
}

/* Pay for all units of the file that dwz made: any of them may be referred to. */
static bool pay_shared(struct ow_lines *l)
{
	const struct ow_unitcost *cost = &l->shared.cost;
	Dwarf_Off off = 0, next, abbrevs;
	size_t head;

	if (!ow_dwarfimage_want(&l->shared.image, cost->info,
				cost->info_size)) {
		refuse(l, "DWARF that it shares");
		return false;
	}
	for (; dwarf_next_unit(l->shared.dw, off, &next, &head, NULL, &abbrevs,
			       NULL, NULL, NULL, NULL) == 0;
	     off = next)
		if (!pay_unit(l, ow_unitcost_all_abbrevs(cost, abbrevs,
							 most_abbrevs(l)))) {
			refuse(l, "DWARF that it shares");
			return false;
		}
	return true;
}

static void find_shared(struct ow_lines *l, const char *root,
			struct ow_debuginfod *debuginfod)
{
	l->alt = ow_debugfile_shared(l->from, root, debuginfod);
	if (l->alt && dwarf_init(&l->shared, l->alt, &l->own) &&
	    pay_shared(l)) {
		dwarf_setalt(l->shared.dw, l->none.dw);
		dwarf_setalt(l->main.dw, l->shared.dw);
	}
}

static bool add_range(struct ow_lines *l, uint64_t start, uint64_t end,
		      size_t unit)
{
	size_t before = l->room;

	/* Sections that the linker dropped were left at 0. */
	if (start >= end || start == 0)
		return true;
	if (!ow_grow(&l->ranges, &l->room, l->nr + 1, sizeof(*l->ranges)) ||
	    !ow_owner_take(&l->own, (l->room - before) * sizeof(*l->ranges)))
		return false;
	l->ranges[l->nr++] = (struct range){ { start, end, 0 }, unit };
	return true;
}

/* The ranges of the last unit. */
static bool add_ranges(struct ow_lines *l, Dwarf_Die *die)
{
	struct ow_ranges r;

	ow_ranges_init(&r, die, nr_attributes(die), &l->main.cost,
		       &l->scopes.work_left);
	while (ow_ranges_next(&r))
		if (!add_range(l, r.start, r.end, l->nr_units - 1))
			return false;
	return l->scopes.work_left > 0;
}

/* dwarf_getattrs() calls it: where the last value is that the DIE has. */
static int note_value(Dwarf_Attribute *attr, void *at_ret)
{
	*(const uint8_t **)at_ret = attr->valp;
	return DWARF_CB_OK;
}

/* Have all of a unit's own DIE be there, from off on; the unit's head is. */
static bool want_die(struct ow_lines *l, Dwarf_Die *die, uint64_t off,
		     uint64_t end)
{
	const uint8_t *last = die->addr;
	uint64_t size = UNIT_HEAD;

	if (!l->main.image.bytes)
		return true;
	while (want_unit(l, off, size)) {
		dwarf_getattrs(die, note_value, &last, 0);
		if (size >= end - off ||
		    (uint64_t)(last - (const uint8_t *)die->addr) <=
			    size - LAST_VALUE)
			return true;
		size *= 2;
		if (!pay_attributes(l, die))
			return false;
	}
	return false;
}

static bool add_unit(struct ow_lines *l, Dwarf_Off off, Dwarf_Off end,
		     Dwarf_Off abbrevs)
{
	size_t before = l->room_units;
	Dwarf_Die die;
	uint8_t type;

	if (!pay_unit(l, ow_unitcost_abbrevs(&l->main.cost, abbrevs, off,
					     most_abbrevs(l))) ||
	    !ow_grow(&l->units, &l->room_units, l->nr_units + 1,
		     sizeof(*l->units)) ||
	    !ow_owner_take(&l->own,
			   (l->room_units - before) * sizeof(*l->units)))
		return false;
	if (!dwarf_offdie(l->main.dw, off, &die) || !pay_attributes(l, &die) ||
	    dwarf_cu_info(die.cu, NULL, &type, NULL, NULL, NULL, NULL, NULL))
		return true;
	if (!want_die(l, &die, off, end))
		return false;
	l->units[l->nr_units++] =
		(struct unit){ .die = off, .end = end, .abbrevs = abbrevs };
	return (type != DW_UT_compile && type != DW_UT_skeleton) ||
	       add_ranges(l, &die);
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

/*
 * Give back the heads of units between two offsets, if these are HEADS_KEPT apart.  libdw
 * has made the units, and reads no more of them than is wanted again (want_unit()).  Return
 * the first offset whose head is there.
 */
static Dwarf_Off drop_heads(struct ow_lines *l, Dwarf_Off from, Dwarf_Off to)
{
	const uint8_t *info = l->main.cost.info;

	if (to - from < HEADS_KEPT)
		return from;
	ow_dwarfimage_drop(&l->main.image, info + from, info + to);
	return to - to % ow_piececopy_page();
}

/*
 * False if that takes more than it may.  Each unit's head takes a page: those of units that
 * libdw has made are given back, and others', which it may look at again, stay.
 */
static bool add_units(struct ow_lines *l)
{
	Dwarf_Off off = 0, next, abbrevs, kept = 0;
	size_t head, before;

	for (; want_unit(l, off, UNIT_HEAD); off = next) {
		if (dwarf_next_unit(l->main.dw, off, &next, &head, NULL,
				    &abbrevs, NULL, NULL, NULL, NULL))
			return true;
		before = l->nr_units;
		if (!add_unit(l, off + head, next, abbrevs))
			return false;
		kept = l->nr_units > before ? drop_heads(l, kept, next) : next;
	}
	return false;
}

/* The same. */
static bool index_units(struct ow_lines *l)
{
	struct ow_spans spans;

	if (!add_units(l))
		return false;
	if (l->nr > 0)
		qsort(l->ranges, l->nr, sizeof(*l->ranges), compare);
	spans = spans_of(l);
	ow_spans_link(&spans);
	return true;
}

static bool read_index(struct ow_lines *l, const char *root,
		       struct ow_debuginfod *debuginfod)
{
	bool is_whole;

	dwarf_setalt(l->main.dw, l->none.dw);
	l->scopes.main = l->main.dw;
	l->scopes.cost = &l->main.cost;
	begin_work(l);
	find_shared(l, root, debuginfod);
	is_whole = index_units(l);
	if (!is_whole)
		refuse(l, "an index of its DWARF");
	end_work(l);
	return is_whole && l->nr > 0;
}

struct ow_lines *ow_lines_create(struct ow_object *obj,
				 struct ow_debuginfod *debuginfod)
{
	struct ow_lines *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	l->path = obj->path;
	l->in_root = obj->root;
	l->effort = (struct ow_effort)OW_EFFORT(OBJECT_STEPS, OBJECT_A_SECOND);
	l->from = ow_debugfile_with_dwarf(obj, debuginfod);
	if (l->from)
		l->own = l->scopes.own = ow_owner_beside(&l->from->owner);
	if (l->from && dwarf_init(&l->main, l->from, &l->own) &&
	    none_init(&l->none) && read_index(l, obj->root, debuginfod))
		return l;
	ow_lines_destroy(l);
	return NULL;
}

bool ow_lines_is_cut(const struct ow_lines *l)
{
	return l->is_cut || ow_object_is_cut(l->from) ||
	       ow_object_is_cut(l->alt) || ow_splitfiles_are_cut(&l->splits);
}

void ow_lines_destroy(struct ow_lines *l)
{
	if (!l)
		return;
	ow_scopes_deinit(&l->scopes);
	ow_splitfiles_deinit(&l->splits);
	dwarf_deinit(&l->main);
	dwarf_deinit(&l->shared);
	dwarf_deinit(&l->none);
	free(l->ranges);
	free(l->units);
	ow_owner_give(&l->own, l->own.bytes);
	free(l);
}

/* The unit that covers vaddr with the range that begins last, or NULL. */
static struct unit *find_unit(const struct ow_lines *l, uint64_t vaddr)
{
	struct ow_spans spans = spans_of(l);
	size_t at = l->nr;
	const struct range *r = ow_spans_before(&spans, vaddr, &at);

	return r ? &l->units[r->unit] : NULL;
}

/* The text of an attribute, or NULL. */
static const char *text(struct ow_lines *l, Dwarf_Attribute *attr)
{
	const char *at = dwarf_formstring(attr);

	if (!at || (ow_dwarfimage_want_text(&l->main.image, at) &&
		    ow_dwarfimage_want_text(&l->shared.image, at)))
		return at;
	refuse(l, "a name in its DWARF");
	return NULL;
}

static const char *string(struct ow_lines *l, Dwarf_Die *die, unsigned int name)
{
	Dwarf_Attribute attr;

	return dwarf_attr(die, name, &attr) ? text(l, &attr) : NULL;
}

/*
 * Pay for the names of files in a line table of size bytes, and for its lines, of
 * which the shortest is a byte: while libdw puts lines in order it has much more than
 * it keeps.  A table whose lines alone would be too much is not looked at.
 */
static bool pay_table(struct ow_lines *l, Dwarf_Off off, const char *folder)
{
	uint64_t *work = &l->scopes.work_left;
	size_t length = folder ? strnlen(folder, LONGEST_FOLDER + 1) : 0;
	uint64_t most, size, names;

	if (!want_table(l, off, TABLE_HEAD))
		return false;
	size = ow_unitcost_lines(&l->main.cost, off);
	most = ow_owner_left(&l->own);
	if (length > LONGEST_FOLDER || size > most / LINE_MADE ||
	    !want_table(l, off, TABLE_HEAD + size))
		return false;
	names = ow_unitcost_files(&l->main.cost, off, length, most, work);
	if (!ow_effort_use(work, names / NAMES_STEP) || names > most ||
	    !ow_owner_take(&l->own, names + size * LINE_MADE))
		return false;
	ow_owner_give(&l->own, size * (LINE_MADE - LINE_KEPT));
	return true;
}

/* Pay for the line table of the unit. */
static bool pay_lines(struct ow_lines *l, Dwarf_Die *die)
{
	Dwarf_Attribute attr;
	Dwarf_Word off;

	return !dwarf_attr(die, DW_AT_stmt_list, &attr) ||
	       dwarf_formudata(&attr, &off) ||
	       pay_table(l, off, string(l, die, DW_AT_comp_dir));
}

/*
 * How a payment ended; where only work has run out, which comes back, it is tried
 * again another time.
 */
static enum payment settle(const struct ow_lines *l, bool is_paid,
			   const char *what)
{
	if (is_paid)
		return PAID;
	refuse(l, what);
	return l->scopes.work_left > 0 ? REFUSED : NOT_YET;
}

/* Return true if the unit's DIEs may be read. */
static bool may_read_dies(struct ow_lines *l, struct unit *u)
{
	uint64_t size;

	if (u->abbrevs_paid == NOT_YET) {
		size = ow_unitcost_all_abbrevs(&l->main.cost, u->abbrevs,
					       most_abbrevs(l));
		u->abbrevs_paid =
			settle(l,
			       pay_abbrevs(l, size) &&
				       want_unit(l, u->die, u->end - u->die),
			       "a unit of its DWARF");
	}
	return u->abbrevs_paid == PAID;
}

/* Return true if the unit's lines, and names of files, may be read. */
static bool may_read_lines(struct ow_lines *l, struct unit *u, Dwarf_Die *die)
{
	if (u->lines_paid == NOT_YET)
		u->lines_paid = settle(l, pay_lines(l, die),
				       "a line table of its DWARF");
	return u->lines_paid == PAID;
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

/* Where the inlined function die was called; unit is NULL if it has no files. */
static void set_call_site(struct ow_line *call, Dwarf_Die *unit, Dwarf_Die *die)
{
	unsigned int file = number(die, DW_AT_call_file);
	Dwarf_Files *files;
	size_t nr;

	if (file > 0 && unit && dwarf_getsrcfiles(unit, &files, &nr) == 0 &&
	    file < nr)
		call->file = dwarf_filesrc(files, file, NULL, NULL);
	call->line = number(die, DW_AT_call_line);
	call->column = number(die, DW_AT_call_column);
}

/* The unit of the file's own that has the DIE, or NULL. */
static struct unit *unit_of(const struct ow_lines *l, Dwarf_Die *die)
{
	Dwarf_Off off = dwarf_dieoffset(die);
	size_t low = 0, high = l->nr_units;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (l->units[mid].die <= off)
			low = mid + 1;
		else
			high = mid;
	}
	return low ? &l->units[low - 1] : NULL;
}

/* Return true if a DIE that another one refers to may be read. */
static bool may_follow(struct ow_lines *l, Dwarf_Die *die)
{
	const Dwarf *dw = dwarf_cu_getdwarf(die->cu);
	struct unit *u;
	uint8_t type;

	if (dw != l->main.dw) /* shared, and paid; or split off */
		return true;
	/* Types have no functions, and may have offsets of their own. */
	if (dwarf_cu_info(die->cu, NULL, &type, NULL, NULL, NULL, NULL, NULL) ||
	    type == DW_UT_type)
		return false;
	u = unit_of(l, die);
	return u && may_read_dies(l, u);
}

/*
 * Go on to the DIE that a link leads to, if it may be read.  libdw makes all units of
 * types until it has the one of a signature.
 */
static bool follow(struct ow_lines *l, Dwarf_Attribute *link, Dwarf_Die *die)
{
	return dwarf_whatform(link) != DW_FORM_ref_sig8 &&
	       dwarf_formref_die(link, die) && may_follow(l, die);
}

/*
 * An attribute of the DIE, or of what it is an instance of or defines (DWARF 5,
 * 2.13.2 and 3.3.8.2), as dwarf_attr_integrate() finds it.
 */
static bool find_attribute(struct ow_lines *l, Dwarf_Die *die,
			   unsigned int name, Dwarf_Attribute *ret)
{
	Dwarf_Die at = *die;
	Dwarf_Attribute link;

	for (int i = 0; i < MOST_LINKS; i++) {
		if (!pay_attributes(l, &at))
			return false;
		if (dwarf_attr(&at, name, ret))
			return true;
		if ((!dwarf_attr(&at, DW_AT_abstract_origin, &link) &&
		     !dwarf_attr(&at, DW_AT_specification, &link)) ||
		    !follow(l, &link, &at))
			return false;
	}
	return false;
}

static const char *linked_name(struct ow_lines *l, Dwarf_Die *die)
{
	static const unsigned int names[] = { DW_AT_linkage_name,
					      DW_AT_MIPS_linkage_name,
					      DW_AT_name };
	Dwarf_Attribute attr;
	const char *name;

	for (size_t i = 0; i < OW_ARRAY_SIZE(names); i++) {
		name = find_attribute(l, die, names[i], &attr) ?
			       text(l, &attr) :
			       NULL;
		if (name)
			return name;
	}
	return NULL;
}

/* Where libdw looks for the functions of a skeleton unit, allocated; or NULL. */
static char *split_path(struct ow_lines *l, Dwarf_Die *unit)
{
	const char *name = string(l, unit, DW_AT_dwo_name), *dir;
	char *path;

	if (!name)
		name = string(l, unit, DW_AT_GNU_dwo_name);
	if (!name || name[0] == '/')
		return name ? strdup(name) : NULL;
	dir = string(l, unit, DW_AT_comp_dir);
	return asprintf(&path, "%s/%s", dir ? dir : "", name) < 0 ? NULL : path;
}

/* The functions lead outwards; the last call is no inline. */
static size_t fill(struct ow_lines *l, Dwarf_Die *unit, Dwarf_Die *functions,
		   size_t nr, struct ow_line *calls)
{
	struct ow_line next = calls[0];

	for (size_t i = 0; i < nr; i++) {
		calls[i] = next;
		calls[i].function = linked_name(l, &functions[i]);
		calls[i].is_inline = dwarf_tag(&functions[i]) ==
				     DW_TAG_inlined_subroutine;
		if (!calls[i].is_inline && pay_attributes(l, &functions[i]))
			dwarf_entrypc(&functions[i], &calls[i].start);
		next = (struct ow_line){ 0 };
		if (pay_attributes(l, &functions[i]))
			set_call_site(&next, unit, &functions[i]);
	}
	return nr ? nr : 1;
}

/* Return true if there is work left to look at each part of a path. */
static bool pay_path(struct ow_lines *l, const char *path)
{
	uint64_t parts = 1;

	for (; *path; path++)
		parts += *path == '/';
	return ow_effort_use(&l->scopes.work_left, parts * PART_STEPS);
}

/*
 * -gsplit-dwarf: lines are in the skeleton, functions in a file that the skeleton
 * names and that libdw opens, whatever it is.  So it has to be one that only root
 * or our own user could put there.
 */
static bool may_read_split(struct ow_lines *l, struct unit *u, const char *path)
{
	bool is_own;

	if (u->split_paid != NOT_YET)
		return u->split_paid == PAID;
	if (path && !pay_path(l, path))
		return false;
	is_own = path && !l->in_root && ow_path_is_own(path);
	if (path && !is_own)
		ow_leave_out(l->path, "split DWARF in a file that others than "
				      "root and this user could replace, or "
				      "that is on no disk");
	u->split_paid = is_own ? PAID : REFUSED;
	return is_own;
}

static bool find_split(struct ow_lines *l, struct unit *u, Dwarf_Die *unit,
		       Dwarf_Die *ret)
{
	_cleanup_(ow_freep) char *path =
		u->split_paid == REFUSED ? NULL : split_path(l, unit);
	uint8_t type;
	int failed;

	if (!may_read_split(l, u, path) || !path)
		return false;
	ow_filemap_begin_others();
	failed = dwarf_cu_info(unit->cu, NULL, &type, NULL, ret, NULL, NULL,
			       NULL);
	if (!ow_filemap_end_others()) {
		ow_lose_file(path, OW_LOST_CUT);
		l->is_cut = true;
		return false;
	}
	if (failed || type != DW_UT_skeleton ||
	    dwarf_tag(ret) != DW_TAG_compile_unit ||
	    !ow_splitfiles_add(&l->splits, ret, path))
		return false;
	dwarf_setalt(dwarf_cu_getdwarf(ret->cu), l->none.dw);
	return true;
}

static size_t find_calls(struct ow_lines *l, uint64_t vaddr,
			 struct ow_line *calls, size_t max)
{
	Dwarf_Die unit, split, *full = &unit;
	Dwarf_Die functions[OW_LINES_MOST];
	struct unit *u = find_unit(l, vaddr);
	bool has_lines;

	if (!u || l->scopes.work_left == 0 ||
	    !dwarf_offdie(l->main.dw, u->die, &unit) || !may_read_dies(l, u) ||
	    !pay_attributes(l, &unit))
		return 0;
	has_lines = may_read_lines(l, u, &unit);
	if (find_split(l, u, &unit, &split))
		full = &split;
	calls[0] = (struct ow_line){ 0 };
	if (has_lines)
		set_line(&calls[0], &unit, vaddr);
	max = ow_scopes_find(&l->scopes, full, vaddr, functions, max);
	return fill(l, has_lines ? full : NULL, functions, max, calls);
}

size_t ow_lines_find(struct ow_lines *l, uint64_t vaddr, struct ow_line *calls,
		     size_t max)
{
	size_t nr;

	begin_work(l);
	nr = find_calls(l, vaddr, calls,
			max < OW_LINES_MOST ? max : OW_LINES_MOST);
	end_work(l);
	return nr;
}
