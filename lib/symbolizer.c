// SPDX-License-Identifier: BSD-2-Clause
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <outwind/outwind.h>

#include "capture.h"
#include "debuginfod.h"
#include "demangled.h"
#include "error.h"
#include "filemap.h"
#include "grow.h"
#include "jitnames.h"
#include "leftout.h"
#include "lines.h"
#include "namecache.h"
#include "nameshares.h"
#include "object.h"
#include "objectwatch.h"
#include "plt.h"
#include "symtab.h"

#define FUNCTION_MAX ((uint64_t)1 << 24) /* bytes, where nobody tells */
#define CALLS_MAX    OW_LINES_MOST

/* The tables of one object, made when the first name in it is wanted. */
struct tables {
	struct ow_object *object; /* borrowed from the capture */
	struct ow_namesource source;
	struct ow_symtab *symtab;
	struct ow_lines *lines;
	struct ow_plt *plt; /* NULL: not needed yet */
};

struct ow_symbolizer {
	struct ow_capture *capture;
	unsigned int flags;
	struct ow_debuginfod *debuginfod; /* NULL: not to be asked */
	struct ow_nameshares names;
	struct ow_demangled demangled;
	uid_t uid;       /* on whose behalf it is asked; 0: everybody's, too */
	bool is_refused; /* no room, or time, for a name of the present frame */
	struct tables *tables;
	size_t nr_tables;
	struct ow_perfmap *perfmap;
	bool perfmap_tried;
	struct ow_namesource jit, list; /* perfmap, and what the user gave */
	struct ow_namecache cache;
	unsigned int nr_cut; /* ow_filemap_nr_cut() when it was looked at last */
};

struct ow_symbolizer *ow_symbolizer_create(struct ow_capture *c,
					   unsigned int flags,
					   struct ow_error *err)
{
	struct ow_symbolizer *s = calloc(1, sizeof(*s));

	if (s)
		s->tables = calloc(c->nr_modules + 1, sizeof(*s->tables));
	if (s && flags & OW_SYMBOLIZER_DEBUGINFOD)
		s->debuginfod = ow_debuginfod_create();
	if (!s || !s->tables ||
	    (flags & OW_SYMBOLIZER_DEBUGINFOD && !s->debuginfod)) {
		ow_fail(err, OW_CODE_MEMORY, "out of memory");
		ow_symbolizer_destroy(s);
		return NULL;
	}
	s->capture = c;
	s->flags = flags;
	s->list.path = "list of names";
	return s;
}

void ow_symbolizer_set_progress(struct ow_symbolizer *s,
				void (*progress)(void *arg, uint64_t files,
						 uint64_t bytes),
				void *arg)
{
	if (s->debuginfod)
		ow_debuginfod_set_progress(s->debuginfod, progress, arg);
}

static void destroy_tables(struct tables *t)
{
	ow_symtab_destroy(t->symtab);
	ow_lines_destroy(t->lines);
	ow_plt_destroy(t->plt);
}

void ow_symbolizer_destroy(struct ow_symbolizer *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->nr_tables; i++)
		destroy_tables(&s->tables[i]);
	ow_perfmap_close(s->perfmap);
	ow_nameshares_deinit(&s->names);
	ow_demangled_deinit(&s->demangled);
	free(s->tables);
	ow_namecache_deinit(&s->cache);
	ow_debuginfod_destroy(s->debuginfod);
	free(s);
}

/* There are no more objects than modules, so there is room. */
static struct tables *tables_of(struct ow_symbolizer *s, struct ow_object *obj)
{
	struct tables *t;

	for (size_t i = 0; i < s->nr_tables; i++)
		if (s->tables[i].object == obj)
			return &s->tables[i];
	t = &s->tables[s->nr_tables++];
	*t = (struct tables){ .object = obj, .source = { .path = obj->path } };
	t->symtab = ow_symtab_create(obj, s->debuginfod);
	if (s->flags & (OW_SYMBOLIZER_INLINES | OW_SYMBOLIZER_LINES))
		t->lines = ow_lines_create(obj, s->debuginfod);
	return t;
}

void ow_symbolizer_ask_for(struct ow_symbolizer *s, uid_t uid)
{
	s->uid = uid;
}

void ow_symbolizer_forget(struct ow_symbolizer *s, const struct ow_object *obj)
{
	for (size_t i = 0; i < s->nr_tables; i++) {
		if (s->tables[i].object != obj)
			continue;
		destroy_tables(&s->tables[i]);
		s->tables[i] = s->tables[--s->nr_tables];
		return;
	}
}

void ow_symbolizer_forget_names(struct ow_symbolizer *s,
				bool (*is_gone)(void *arg, uint64_t pc),
				void *arg)
{
	ow_namecache_drop(&s->cache, is_gone, arg);
}

bool ow_symbolizer_lacks_names(const struct ow_symbolizer *s)
{
	return s->names.is_short;
}

void ow_symbolizer_drop_names(struct ow_symbolizer *s)
{
	ow_namecache_deinit(&s->cache);
	ow_nameshares_clear(&s->names);
	s->jit.used = s->list.used = 0;
	for (size_t i = 0; i < s->nr_tables; i++)
		s->tables[i].source.used = 0;
}

/* A frame whose name can't be kept is shown without. */
static const char *keep(struct ow_symbolizer *s, struct ow_namesource *from,
			const char *name)
{
	const char *kept = ow_nameshares_keep(&s->names, s->uid, from, name);

	s->is_refused = s->is_refused || (name && !kept);
	return kept;
}

/*
 * A raw name as people know it.  Linkers and .symtab of libraries append the
 * version, as in "poll@@GLIBC_2.2.5".  Whose file it is in may write to it meanwhile, and
 * demanglers rely on a text that stays.
 */
static const char *readable(struct ow_symbolizer *s, struct ow_namesource *from,
			    const char *raw)
{
	_cleanup_(ow_freep) char *copy = NULL;
	const char *demangled;
	bool is_refused;
	char *at;

	if (!raw || s->flags & OW_SYMBOLIZER_RAW)
		return keep(s, from, raw);
	copy = strndup(raw, OW_INTERN_LONGEST + 1);
	if (!copy)
		return NULL;
	/* It is cut when it is kept, and has no version that anybody knows. */
	if (strlen(copy) > OW_INTERN_LONGEST)
		return keep(s, from, copy);
	at = strchr(copy, '@');
	if (at && at > copy && strcmp(at, "@plt") != 0)
		*at = '\0';
	demangled = ow_demangled_find(&s->demangled, copy, s->uid, &is_refused);
	s->is_refused = s->is_refused || is_refused;
	return keep(s, from, demangled ? demangled : copy);
}

/* As disassemblers and gdb call them. */
static bool name_stub(struct ow_symbolizer *s, struct tables *t, uint64_t vaddr,
		      struct ow_name *name)
{
	_cleanup_(ow_freep) char *text = NULL;
	struct ow_plt_stub stub;
	struct ow_symbol sym;

	if (!t->plt)
		t->plt = ow_plt_create(t->object);
	if (!t->plt || !ow_plt_find(t->plt, vaddr, &stub))
		return false;
	if (!stub.name) {
		if (!t->symtab ||
		    !ow_symtab_find(t->symtab, stub.resolver, &sym))
			return false;
		stub.name = sym.name;
	}
	stub.name = readable(s, &t->source, stub.name);
	if (!stub.name || asprintf(&text, "%s@plt", stub.name) < 0) {
		text = NULL;
		return false;
	}
	name->function = keep(s, &t->source, text);
	name->offset = name->module_offset - stub.vaddr;
	return true;
}

/*
 * Where the FDE begins that begins last up to vaddr, and whether that covers vaddr; 0 if
 * none does.
 */
static uint64_t last_start(struct ow_object *obj, uint64_t vaddr, bool *covers)
{
	struct ow_cfi_env env = { .bias = 0 };
	struct ow_fde fde = { .start = 0 };
	uint8_t how;

	*covers = !ow_object_load_cfi(obj, NULL) &&
		  !ow_cfi_find(&obj->cfi, &env, vaddr, &fde, &how);
	return fde.start <= vaddr ? fde.start : 0;
}

/*
 * Return true if another function begins between a symbol, of which nobody tells where
 * it ends, and vaddr.
 */
static bool has_ended(struct ow_object *obj, const struct ow_symbol *sym,
		      uint64_t vaddr)
{
	bool covers;

	return !sym->size && last_start(obj, vaddr, &covers) > sym->vaddr;
}

/* Where a function without a name begins, or 0. */
static uint64_t start_of(struct ow_object *obj, uint64_t vaddr)
{
	bool covers;
	uint64_t start = last_start(obj, vaddr, &covers);

	return covers ? start : 0;
}

/* The function that was linked at vaddr. */
static bool name_function(struct ow_symbolizer *s, struct tables *t,
			  uint64_t vaddr, struct ow_name *name)
{
	struct ow_symbol sym;

	if (!t->symtab || !ow_symtab_find(t->symtab, vaddr, &sym) ||
	    has_ended(t->object, &sym, vaddr))
		return name_stub(s, t, vaddr, name);
	name->function = readable(s, &t->source, sym.name);
	name->offset = name->module_offset - sym.vaddr;
	return true;
}

static void set_line(struct ow_symbolizer *s, struct ow_namesource *from,
		     const struct ow_line *call, struct ow_name *name)
{
	if (!(s->flags & OW_SYMBOLIZER_LINES))
		return;
	name->file = keep(s, from, call->file);
	name->line = call->line;
	name->column = call->column;
}

/*
 * Names by DWARF, except for the outermost, which is a function that has a
 * symbol as a rule: then all frames of it are called alike, whether there is
 * DWARF or not.  names[0] is filled in for all of them.
 */
static size_t name_calls(struct ow_symbolizer *s, struct tables *t,
			 uint64_t vaddr, struct ow_name *names)
{
	struct ow_name base = names[0], *last;
	struct ow_line calls[CALLS_MAX];
	size_t nr = 0;

	if (t->lines)
		nr = ow_lines_find(t->lines, vaddr, calls, CALLS_MAX);
	for (size_t i = 0; i < nr; i++) {
		names[i] = base;
		names[i].is_inline = calls[i].is_inline;
		names[i].function = readable(s, &t->source, calls[i].function);
		set_line(s, &t->source, &calls[i], &names[i]);
	}
	/* Without inlined calls the line is still the innermost one. */
	if (nr > 1 && !(s->flags & OW_SYMBOLIZER_INLINES)) {
		names[0].function = names[nr - 1].function;
		names[0].is_inline = names[nr - 1].is_inline;
		calls[0].start = calls[nr - 1].start;
		nr = 1;
	}
	if (nr > 0 && !names[nr - 1].is_inline && calls[nr - 1].start)
		names[nr - 1].offset = base.module_offset - calls[nr - 1].start;
	if (nr == 0 || (names[nr - 1].is_inline && nr < CALLS_MAX))
		names[nr++] = base;
	last = &names[nr - 1];
	last->is_inline = false;
	name_function(s, t, vaddr, last);
	return nr;
}

static void name_jit(struct ow_symbolizer *s, uint64_t pc, uint64_t lookup,
		     struct ow_name *name)
{
	struct ow_symbol sym;

	if (!s->perfmap_tried)
		s->perfmap = ow_jitnames_open(s->capture);
	s->perfmap_tried = true;
	if (!s->perfmap || !ow_perfmap_find(s->perfmap, lookup, &sym))
		return;
	s->jit.path = ow_perfmap_path(s->perfmap);
	name->function = keep(s, &s->jit, sym.name);
	name->offset = pc - sym.vaddr;
	if (!name->module)
		name->module = ow_intern_add(&s->names.strings,
					     ow_perfmap_path(s->perfmap));
}

/*
 * By the table that the user gave, which has addresses as they are.  It doesn't
 * tell where its last symbol ends.
 */
static void name_by_table(struct ow_symbolizer *s, uint64_t pc, uint64_t lookup,
			  struct ow_name *name)
{
	uint64_t offset;
	const char *raw;

	if (!s->capture->names || name->function ||
	    !ow_nametable_find(s->capture->names, lookup, &raw, &offset) ||
	    offset >= FUNCTION_MAX)
		return;
	name->function = readable(s, &s->list, raw);
	name->offset = offset + (pc - lookup);
}

/*
 * Give up what was cut off since the last call.  Return true if there was such:
 * a name that was made meanwhile is to be made anew.
 */
static bool lose_cut(struct ow_symbolizer *s)
{
	unsigned int now = ow_filemap_nr_cut();
	struct tables *t;
	bool lost;

	if (now == s->nr_cut)
		return false;
	s->nr_cut = now;
	lost = ow_capture_lose_cut(s->capture);
	for (t = s->tables; t < s->tables + s->nr_tables; t++) {
		bool is_symtab = t->symtab && ow_symtab_is_cut(t->symtab);
		bool is_lines = t->lines && ow_lines_is_cut(t->lines);

		if (is_symtab) {
			ow_symtab_destroy(t->symtab);
			t->symtab = NULL;
		}
		if (is_lines) {
			ow_lines_destroy(t->lines);
			t->lines = NULL;
		}
		lost = lost || is_symtab || is_lines ||
		       ow_object_is_cut(t->object);
	}
	return lost;
}

/*
 * Return true if names that were read of the object may be another file's than the one
 * that was mapped, and tell of it.  To be asked after they were read.
 */
static bool is_outdated(const struct ow_symbolizer *s,
			const struct ow_capture_module *m)
{
	struct ow_object *file;
	bool found = false;

	if (!s->capture->is_lasting || !m || !m->object)
		return false;
	for (unsigned int i = 0; (file = ow_objectwatch_file(m->object, i));
	     i++) {
		if (!ow_objectwatch_is_changed(file, OW_OBJECTWATCH_SOME))
			continue;
		ow_leave_out(file->path, "names in it, as it was written to "
					 "after it was opened");
		found = true;
	}
	return found;
}

/* A text of a module that is lent for as long as names are. */
static const char *lend(struct ow_symbolizer *s, const char *text)
{
	return s->capture->is_lasting ? text :
					ow_intern_add(&s->names.strings, text);
}

/* Name a frame that was not seen before: up to CALLS_MAX names. */
static size_t resolve(struct ow_symbolizer *s, const struct ow_frame *frame,
		      struct ow_name *names)
{
	uint64_t lookup = ow_frame_lookup_pc(frame);
	struct ow_capture_module *m = ow_capture_module_at(s->capture, lookup);
	struct ow_name *name = &names[0], unnamed;
	size_t nr = 1;

	s->is_refused = false;
	*name = (struct ow_name){ .module_offset = frame->pc };
	if (m) {
		name->module = lend(s, m->path);
		name->deleted = m->deleted;
		name->module_offset -= m->base.bias;
		if (m->build_id[0])
			name->build_id = lend(s, m->build_id);
	}
	unnamed = *name;
	if (!m || !m->object)
		name_jit(s, frame->pc, lookup, name);
	else if (!m->why.code) /* else the bias is not known */
		nr = name_calls(s, tables_of(s, m->object),
				lookup - m->base.bias, names);
	if (nr == 1)
		name_by_table(s, frame->pc, lookup, name);
	name = &names[nr - 1];
	if (!name->function && m && m->object && !m->why.code)
		name->start = start_of(m->object, lookup - m->base.bias);
	if (is_outdated(s, m)) {
		names[0] = unnamed;
		return 1;
	}
	return nr;
}

size_t ow_symbolizer_name(struct ow_symbolizer *s, const struct ow_frame *frame,
			  struct ow_name *names, size_t max)
{
	bool back = ow_frame_lookup_pc(frame) != frame->pc;
	struct ow_name found[CALLS_MAX];
	const struct ow_name *from;
	size_t nr;

	from = ow_namecache_find(&s->cache, frame->pc, back, s->uid, &nr);
	if (!from) {
		from = found;
		do
			nr = resolve(s, frame, found);
		while (lose_cut(s));
		if (s->is_refused)
			ow_namecache_put_for(&s->cache, frame->pc, back, s->uid,
					     found, nr);
		else
			ow_namecache_put(&s->cache, frame->pc, back, found, nr);
	}
	if (nr > max)
		nr = max;
	memcpy(names, from, nr * sizeof(*names));
	return nr;
}

/* A frame that is not named yet, and where it is in its object. */
struct pending {
	struct ow_frame frame;
	const struct tables *tables; /* NULL: no object, or none of use */
	uint64_t vaddr;
};

/* Those of the frames that have no name, each once; return how many. */
static size_t list_pending(struct ow_symbolizer *s,
			   const struct ow_frame *frames, size_t nr,
			   struct pending **ret)
{
	struct pending *list = NULL;
	size_t kept = 0, room = 0;

	for (size_t i = 0; i < nr; i++) {
		uint64_t lookup = ow_frame_lookup_pc(&frames[i]);

		if (!ow_namecache_expect(&s->cache, frames[i].pc,
					 lookup != frames[i].pc))
			continue;
		if (!ow_grow(&list, &room, kept + 1, sizeof(*list)))
			break;
		list[kept++] =
			(struct pending){ .frame = frames[i], .vaddr = lookup };
	}
	*ret = list;
	return kept;
}

static void place(struct ow_symbolizer *s, struct pending *p)
{
	struct ow_capture_module *m =
		ow_capture_module_at(s->capture, p->vaddr);

	if (!m || !m->object || m->why.code)
		return;
	p->tables = tables_of(s, m->object);
	p->vaddr -= m->base.bias;
}

static int by_tables(const void *a, const void *b)
{
	const struct pending *p = a, *q = b;

	return (p->tables > q->tables) - (p->tables < q->tables);
}

/* Look up the symbols of each object's frames together. */
static void prepare_symtabs(const struct pending *list, size_t nr,
			    uint64_t *vaddrs)
{
	size_t n = 0;

	for (size_t i = 0; i < nr; i++) {
		const struct tables *t = list[i].tables;

		vaddrs[n++] = list[i].vaddr;
		if (i + 1 < nr && list[i + 1].tables == t)
			continue;
		if (t && t->symtab)
			ow_symtab_prepare(t->symtab, vaddrs, n);
		n = 0;
	}
}

void ow_symbolizer_prepare(struct ow_symbolizer *s,
			   const struct ow_frame *frames, size_t nr)
{
	_cleanup_(ow_freep) struct pending *list = NULL;
	_cleanup_(ow_freep) uint64_t *vaddrs = NULL;
	struct ow_name names[CALLS_MAX];

	nr = list_pending(s, frames, nr, &list);
	vaddrs = calloc(nr + 1, sizeof(*vaddrs));
	if (!vaddrs || nr == 0)
		return;
	for (size_t i = 0; i < nr; i++)
		place(s, &list[i]);
	qsort(list, nr, sizeof(*list), by_tables);
	prepare_symtabs(list, nr, vaddrs);
	for (size_t i = 0; i < nr; i++)
		ow_symbolizer_name(s, &list[i].frame, names, CALLS_MAX);
}
