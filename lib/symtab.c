// SPDX-License-Identifier: BSD-2-Clause
#include "symtab.h"

#include <stdlib.h>
#include <string.h>

#include "debugfile.h"
#include "elfsym.h"
#include "error.h"
#include "minidebug.h"
#include "object.h"

#define NONE UINT32_MAX

struct function {
	uint64_t start;
	uint64_t end; /* of the section, where the symbol has no size */
	const char *name;
	uint8_t rank; /* which of two aliases to take: the higher */
	bool sized;
};

/* From start to the next piece's start, this function is the innermost. */
struct piece {
	uint64_t start;
	uint32_t function; /* index, or NONE */
};

struct ow_symtab {
	struct function *functions;
	size_t nr, room;
	struct piece *pieces;
	size_t nr_pieces;
	struct ow_object *debug, *mini; /* names point into them; owned */
};

/* A type tells code from a mere label; after that a global name is the API. */
static uint8_t rank_of(const struct ow_elfsym *sym)
{
	uint8_t type = sym->type == OW_STT_NOTYPE ? 0 : 4;

	switch (sym->bind) {
	case OW_STB_LOCAL: return type;
	case OW_STB_WEAK: return type + 1;
	default: return type + 2;
	}
}

/*
 * Labels of hand-written assembly often have no type.  But no function is
 * named like those that mark code and data ("ELF for the Arm 64-bit
 * Architecture" 5.5.2), nor like a compiler's own labels.
 */
static bool is_function(const struct ow_elfsym *sym, uint64_t section_flags)
{
	if (sym->section == 0 || !*sym->name)
		return false;
	if (sym->type == OW_STT_FUNC || sym->type == OW_STT_GNU_IFUNC)
		return true;
	return sym->type == OW_STT_NOTYPE &&
	       (section_flags & OW_SHF_EXECINSTR) && sym->name[0] != '$' &&
	       strncmp(sym->name, ".L", 2) != 0;
}

static bool add(struct ow_symtab *tab, const struct ow_elf *elf,
		const struct ow_elfsym *sym)
{
	struct ow_elf_section sec = { 0 };
	uint64_t end = sym->value + sym->size;

	if (sym->type == OW_STT_NOTYPE || sym->size == 0)
		ow_elf_section(elf, sym->section, &sec);
	if (!is_function(sym, sec.flags))
		return true;
	if (sym->size == 0)
		end = sec.vaddr + sec.size;
	if (end <= sym->value)
		return true;
	if (tab->nr == tab->room) {
		size_t room = tab->room * 2 + 64;
		void *more =
			realloc(tab->functions, room * sizeof(*tab->functions));

		if (!more)
			return false;
		tab->functions = more;
		tab->room = room;
	}
	tab->functions[tab->nr++] = (struct function){
		.start = sym->value,
		.end = end,
		.name = sym->name,
		.rank = rank_of(sym),
		.sized = sym->size != 0,
	};
	return true;
}

/* Add what the table of that type has; false when out of memory. */
static bool add_all(struct ow_symtab *tab, const struct ow_elf *elf,
		    uint32_t type, bool *found_ret)
{
	struct ow_elfsyms syms;
	struct ow_elfsym sym;

	if (!ow_elfsyms_init(&syms, elf, type))
		return true;
	*found_ret = true;
	for (size_t i = 1; i < syms.nr; i++)
		if (ow_elfsyms_get(&syms, i, &sym) && !add(tab, elf, &sym))
			return false;
	return true;
}

/*
 * Where one .symtab is, a second knows nothing that the first doesn't.  The
 * one in .gnu_debugdata is reduced, so it is the last to ask.
 */
static bool add_tables(struct ow_symtab *tab, const struct ow_object *obj,
		       bool use_debuginfod)
{
	bool found = false, dynamic = false;

	if (!add_all(tab, &obj->elf, OW_SHT_DYNSYM, &dynamic) ||
	    !add_all(tab, &obj->elf, OW_SHT_SYMTAB, &found))
		return false;
	if (found)
		return true;
	tab->debug = ow_debugfile_open(obj, obj->root, use_debuginfod);
	if (tab->debug &&
	    !add_all(tab, &tab->debug->elf, OW_SHT_SYMTAB, &found))
		return false;
	if (found)
		return true;
	tab->mini = ow_minidebug_open(obj);
	return !tab->mini ||
	       add_all(tab, &tab->mini->elf, OW_SHT_SYMTAB, &found);
}

/* By start; of one start the longer first, and those without a size last. */
static int compare(const void *a, const void *b)
{
	const struct function *f = a, *g = b;

	if (f->start != g->start)
		return f->start < g->start ? -1 : 1;
	if (f->sized != g->sized)
		return f->sized ? -1 : 1;
	if (f->end != g->end)
		return f->end > g->end ? -1 : 1;
	return 0;
}

/*
 * Is f the better name for what both cover?  After rank, the one with fewer
 * underscores in front, the shorter, the first by the alphabet: so the result
 * depends on no order in the file.
 */
static bool better(const struct function *f, const struct function *g)
{
	size_t n, m;

	if (f->rank != g->rank)
		return f->rank > g->rank;
	n = strspn(f->name, "_");
	m = strspn(g->name, "_");
	if (n != m)
		return n < m;
	n = strlen(f->name);
	m = strlen(g->name);
	if (n != m)
		return n < m;
	return strcmp(f->name, g->name) < 0;
}

/*
 * Of functions with one start, keep those that are the best name somewhere: a
 * shorter one must be better than the longer ones.
 */
static void drop_aliases(struct ow_symtab *tab)
{
	struct function *f = tab->functions;
	size_t kept = 0;

	for (size_t i = 0; i < tab->nr; i++) {
		struct function *last = kept ? &f[kept - 1] : NULL;

		if (!last || last->start != f[i].start) {
			f[kept++] = f[i];
			continue;
		}
		if (!f[i].sized && last->sized)
			continue;
		if (!better(&f[i], last))
			continue;
		if (last->end == f[i].end)
			kept--;
		f[kept++] = f[i];
	}
	tab->nr = kept;
}

/* The functions that cover a place, as a stack: the innermost is on top. */
struct sweep {
	struct ow_symtab *tab;
	uint32_t *open;
	size_t nr_open;
};

static void begin_piece(struct sweep *s, uint64_t start)
{
	struct ow_symtab *tab = s->tab;
	struct piece *last = tab->pieces + tab->nr_pieces - 1;
	uint32_t top = s->nr_open ? s->open[s->nr_open - 1] : NONE;

	if (tab->nr_pieces == 0 || last->start != start)
		last = tab->pieces + tab->nr_pieces++;
	*last = (struct piece){ start, top };
}

/* Close the functions that end at or before until. */
static void close_functions(struct sweep *s, uint64_t until)
{
	const struct function *f = s->tab->functions;

	while (s->nr_open > 0 && f[s->open[s->nr_open - 1]].end <= until) {
		uint64_t end = f[s->open[--s->nr_open]].end;

		while (s->nr_open > 0 && f[s->open[s->nr_open - 1]].end <= end)
			s->nr_open--;
		begin_piece(s, end);
	}
}

/* A label inside a function is no function of its own. */
static bool is_label(const struct function *f)
{
	return !f->sized || f->rank < 4;
}

/* Where a symbol without a size gives way to the next one. */
static uint64_t next_start(const struct ow_symtab *tab, size_t i)
{
	uint64_t end = tab->functions[i].end;

	if (i + 1 < tab->nr && tab->functions[i + 1].start < end)
		return tab->functions[i + 1].start;
	return end;
}

/* Cut nested functions into pieces that don't overlap, in order of start. */
static void make_pieces(struct sweep *s)
{
	struct ow_symtab *tab = s->tab;

	for (size_t i = 0; i < tab->nr; i++) {
		struct function *f = &tab->functions[i];

		close_functions(s, f->start);
		if (s->nr_open > 0 && is_label(f))
			continue;
		if (!f->sized)
			f->end = next_start(tab, i);
		s->open[s->nr_open++] = i;
		begin_piece(s, f->start);
	}
	close_functions(s, UINT64_MAX);
}

static bool make_index(struct ow_symtab *tab)
{
	_cleanup_(ow_freep) uint32_t *open = NULL;
	struct sweep s = { .tab = tab };

	if (tab->nr == 0)
		return true;
	if (tab->nr >= NONE)
		return false;
	qsort(tab->functions, tab->nr, sizeof(*tab->functions), compare);
	drop_aliases(tab);
	/* Each function begins one piece, and its end at most another. */
	tab->pieces = malloc(2 * tab->nr * sizeof(*tab->pieces));
	open = malloc(tab->nr * sizeof(*open));
	if (!tab->pieces || !open)
		return false;
	s.open = open;
	make_pieces(&s);
	return true;
}

struct ow_symtab *ow_symtab_create(const struct ow_object *obj,
				   bool use_debuginfod)
{
	struct ow_symtab *tab = calloc(1, sizeof(*tab));

	if (!tab)
		return NULL;
	if (!add_tables(tab, obj, use_debuginfod) || !make_index(tab)) {
		ow_symtab_destroy(tab);
		return NULL;
	}
	return tab;
}

bool ow_symtab_find(const struct ow_symtab *tab, uint64_t vaddr,
		    struct ow_symbol *ret)
{
	size_t low = 0, high = tab->nr_pieces;
	const struct function *f;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (tab->pieces[mid].start <= vaddr)
			low = mid + 1;
		else
			high = mid;
	}
	if (low == 0 || tab->pieces[low - 1].function == NONE)
		return false;
	f = &tab->functions[tab->pieces[low - 1].function];
	*ret = (struct ow_symbol){
		.name = f->name,
		.vaddr = f->start,
		.size = f->sized ? f->end - f->start : 0,
	};
	return true;
}

void ow_symtab_destroy(struct ow_symtab *tab)
{
	if (!tab)
		return;
	free(tab->functions);
	free(tab->pieces);
	ow_object_close(tab->debug);
	ow_object_close(tab->mini);
	free(tab);
}
