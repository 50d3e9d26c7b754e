// SPDX-License-Identifier: BSD-2-Clause
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <outwind/outwind.h>

#include "capture.h"
#include "demangle.h"
#include "error.h"
#include "intern.h"
#include "lines.h"
#include "object.h"
#include "perfmap.h"
#include "plt.h"
#include "symtab.h"

#define CALLS_MAX 64 /* inlined into each other, at one pc */

/* The tables of one object, made when the first name in it is wanted. */
struct tables {
	const struct ow_object *object; /* borrowed from the capture */
	struct ow_symtab *symtab;
	struct ow_lines *lines;
};

/* What a pc was named before. */
struct result {
	uint64_t pc;
	bool back;   /* looked up at pc - 1 */
	uint32_t nr; /* names, from first on; 0: the slot is free */
	size_t first;
};

struct ow_symbolizer {
	struct ow_capture *capture;
	unsigned int flags;
	struct ow_intern strings;
	struct tables *tables;
	size_t nr_tables;
	struct ow_perfmap *perfmap;
	bool perfmap_tried;

	struct ow_name *names; /* of all results */
	size_t nr_names, room_names;
	struct result *results; /* a hash table, at most half full */
	size_t nr_results, room_results;
};

struct ow_symbolizer *ow_symbolizer_create(struct ow_capture *c,
					   unsigned int flags,
					   struct ow_error *err)
{
	struct ow_symbolizer *s = calloc(1, sizeof(*s));

	if (s)
		s->tables = calloc(c->nr_modules + 1, sizeof(*s->tables));
	if (!s || !s->tables) {
		ow_fail(err, OW_CODE_MEMORY, "out of memory");
		free(s);
		return NULL;
	}
	s->capture = c;
	s->flags = flags;
	return s;
}

void ow_symbolizer_destroy(struct ow_symbolizer *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->nr_tables; i++) {
		ow_symtab_destroy(s->tables[i].symtab);
		ow_lines_destroy(s->tables[i].lines);
	}
	ow_perfmap_close(s->perfmap);
	ow_intern_deinit(&s->strings);
	free(s->tables);
	free(s->names);
	free(s->results);
	free(s);
}

/* There are no more objects than modules, so there is room. */
static struct tables *tables_of(struct ow_symbolizer *s,
				const struct ow_object *obj)
{
	bool use_debuginfod = s->flags & OW_SYMBOLIZER_DEBUGINFOD;
	struct tables *t;

	for (size_t i = 0; i < s->nr_tables; i++)
		if (s->tables[i].object == obj)
			return &s->tables[i];
	t = &s->tables[s->nr_tables++];
	t->object = obj;
	t->symtab = ow_symtab_create(obj, use_debuginfod);
	if (s->flags & (OW_SYMBOLIZER_INLINES | OW_SYMBOLIZER_LINES))
		t->lines = ow_lines_create(obj, use_debuginfod);
	return t;
}

/*
 * A raw name as people know it.  Linkers and .symtab of libraries append the
 * version, as in "poll@@GLIBC_2.2.5".
 */
static const char *readable(struct ow_symbolizer *s, const char *raw)
{
	_cleanup_(ow_freep) char *copy = NULL;
	_cleanup_(ow_freep) char *demangled = NULL;
	const char *at;

	if (!raw || s->flags & OW_SYMBOLIZER_RAW)
		return ow_intern_add(&s->strings, raw);
	at = strchr(raw, '@');
	if (at && at > raw && strcmp(at, "@plt") != 0)
		raw = copy = strndup(raw, at - raw);
	if (!raw)
		return NULL;
	demangled = ow_demangle(raw);
	return ow_intern_add(&s->strings, demangled ? demangled : raw);
}

/* As disassemblers and gdb call them. */
static bool name_stub(struct ow_symbolizer *s, const struct tables *t,
		      uint64_t vaddr, struct ow_name *name)
{
	_cleanup_(ow_freep) char *text = NULL;
	struct ow_plt_stub stub;
	struct ow_symbol sym;

	if (!ow_plt_find(t->object, vaddr, &stub))
		return false;
	if (!stub.name) {
		if (!t->symtab ||
		    !ow_symtab_find(t->symtab, stub.resolver, &sym))
			return false;
		stub.name = sym.name;
	}
	stub.name = readable(s, stub.name);
	if (!stub.name || asprintf(&text, "%s@plt", stub.name) < 0) {
		text = NULL;
		return false;
	}
	name->function = ow_intern_add(&s->strings, text);
	name->offset = name->module_offset - stub.vaddr;
	return true;
}

/* The function that was linked at vaddr. */
static bool name_function(struct ow_symbolizer *s, const struct tables *t,
			  uint64_t vaddr, struct ow_name *name)
{
	struct ow_symbol sym;

	if (!t->symtab || !ow_symtab_find(t->symtab, vaddr, &sym))
		return name_stub(s, t, vaddr, name);
	name->function = readable(s, sym.name);
	name->offset = name->module_offset - sym.vaddr;
	return true;
}

static void set_line(struct ow_symbolizer *s, const struct ow_line *call,
		     struct ow_name *name)
{
	if (!(s->flags & OW_SYMBOLIZER_LINES))
		return;
	name->file = ow_intern_add(&s->strings, call->file);
	name->line = call->line;
	name->column = call->column;
}

/*
 * Names by DWARF, except for the outermost, which is a function that has a
 * symbol as a rule: then all frames of it are called alike, whether there is
 * DWARF or not.  names[0] is filled in for all of them.
 */
static size_t name_calls(struct ow_symbolizer *s, const struct tables *t,
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
		names[i].function = readable(s, calls[i].function);
		set_line(s, &calls[i], &names[i]);
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

/*
 * Only of a process: the pid in a core may be another's by now, and only a
 * process was frozen.
 */
static void name_jit(struct ow_symbolizer *s, uint64_t pc, uint64_t lookup,
		     struct ow_name *name)
{
	struct ow_symbol sym;

	if (!s->perfmap_tried && s->capture->live > 0)
		s->perfmap = ow_perfmap_open(s->capture->pid);
	s->perfmap_tried = true;
	if (!s->perfmap || !ow_perfmap_find(s->perfmap, lookup, &sym))
		return;
	name->function = ow_intern_add(&s->strings, sym.name);
	name->offset = pc - sym.vaddr;
	if (!name->module)
		name->module =
			ow_intern_add(&s->strings, ow_perfmap_path(s->perfmap));
}

/* Name a frame that was not seen before: up to CALLS_MAX names. */
static size_t resolve(struct ow_symbolizer *s, const struct ow_frame *frame,
		      struct ow_name *names)
{
	uint64_t lookup = ow_frame_lookup_pc(frame);
	struct ow_capture_module *m = ow_capture_module_at(s->capture, lookup);
	struct ow_name *name = &names[0];

	*name = (struct ow_name){ .module_offset = frame->pc };
	if (m) {
		name->module = ow_intern_add(&s->strings, m->path);
		name->module_offset -= m->base.bias;
		if (m->build_id[0])
			name->build_id =
				ow_intern_add(&s->strings, m->build_id);
	}
	if (!m || !m->object)
		name_jit(s, frame->pc, lookup, name);
	else if (!m->why.code) /* else the bias is not known */
		return name_calls(s, tables_of(s, m->object),
				  lookup - m->base.bias, names);
	return 1;
}

static struct result *result_slot(const struct ow_symbolizer *s, uint64_t pc,
				  bool back)
{
	size_t mask = s->room_results - 1;
	size_t i = (pc * 0x9e3779b97f4a7c15 >> 32) + back;

	for (;; i++) {
		struct result *r = &s->results[i & mask];

		if (r->nr == 0 || (r->pc == pc && r->back == back))
			return r;
	}
}

static bool make_room(struct ow_symbolizer *s, size_t nr_names)
{
	struct result *old = s->results;
	size_t room_old = s->room_results;
	size_t room = 2 * s->room_names + 2 * CALLS_MAX;

	if (s->nr_names + nr_names > s->room_names) {
		void *more = realloc(s->names, room * sizeof(*s->names));

		if (!more)
			return false;
		s->names = more;
		s->room_names = room;
	}
	if (2 * s->nr_results < room_old)
		return true;
	room = room_old ? 2 * room_old : 256;
	s->results = calloc(room, sizeof(*s->results));
	if (!s->results) {
		s->results = old;
		return false;
	}
	s->room_results = room;
	for (size_t i = 0; i < room_old; i++)
		if (old[i].nr)
			*result_slot(s, old[i].pc, old[i].back) = old[i];
	free(old);
	return true;
}

static void remember(struct ow_symbolizer *s, uint64_t pc, bool back,
		     const struct ow_name *names, size_t nr)
{
	/* Out of memory, it is only found once more the next time. */
	if (!make_room(s, nr))
		return;
	memcpy(s->names + s->nr_names, names, nr * sizeof(*names));
	*result_slot(s, pc, back) = (struct result){
		.pc = pc, .back = back, .nr = nr, .first = s->nr_names
	};
	s->nr_names += nr;
	s->nr_results++;
}

size_t ow_symbolizer_name(struct ow_symbolizer *s, const struct ow_frame *frame,
			  struct ow_name *names, size_t max)
{
	bool back = ow_frame_lookup_pc(frame) != frame->pc;
	struct ow_name found[CALLS_MAX];
	const struct ow_name *from = found;
	const struct result *r = NULL;
	size_t nr;

	if (s->room_results > 0)
		r = result_slot(s, frame->pc, back);
	if (r && r->nr) {
		from = s->names + r->first;
		nr = r->nr;
	} else {
		nr = resolve(s, frame, found);
		remember(s, frame->pc, back, found, nr);
	}
	if (nr > max)
		nr = max;
	memcpy(names, from, nr * sizeof(*names));
	return nr;
}
