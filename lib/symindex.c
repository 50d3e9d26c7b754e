// SPDX-License-Identifier: BSD-2-Clause
#include "symindex.h"

#include <stdlib.h>

#include "error.h"
#include "owner.h"

#define NONE UINT32_MAX

/* From start to the next piece's start, this function is the innermost. */
struct piece {
	uint64_t start;
	uint32_t function; /* index, or NONE */
};

struct ow_symindex {
	struct ow_function *functions;
	size_t nr, room;
	struct piece *pieces;
	size_t nr_pieces;
	struct ow_owner own;
};

/* Of a function, with those for its order while the index is made. */
#define BYTES_EACH                                                   \
	(2 * sizeof(struct ow_function) + 2 * sizeof(struct piece) + \
	 sizeof(uint32_t))

/*
 * Go through the functions of a table, and keep them if there is room.  Return false if their
 * user has no time left.
 */
static bool add_all(struct ow_symindex *x, const struct ow_symbols *table)
{
	struct ow_elfsym sym;
	struct ow_function f;
	uint64_t since = 0;

	for (size_t i = 1; i < table->syms.nr; i++) {
		if (!ow_function_has_time(i, &x->own, &since))
			return false;
		if (!ow_elfsyms_get(&table->syms, i, &sym) ||
		    !ow_function_type(sym.type) ||
		    !ow_function_from(table->elf, &sym, &f))
			continue;
		if (x->nr < x->room)
			x->functions[x->nr] = f;
		x->nr++;
	}
	return true;
}

/*
 * Once to count them, once to keep them: of a file that is written to meanwhile there may
 * be more than there is room for.  0, -OW_CODE_MEMORY or -OW_CODE_TIMEOUT.
 */
static int list_functions(struct ow_symindex *x,
			  const struct ow_symbols *tables, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		if (!add_all(x, &tables[i]))
			return -OW_CODE_TIMEOUT;
	if (x->nr >= NONE || !ow_owner_take(&x->own, x->nr * BYTES_EACH))
		return -OW_CODE_MEMORY;
	x->functions = malloc(x->nr * sizeof(*x->functions) + 1);
	if (!x->functions)
		return -OW_CODE_MEMORY;
	x->room = x->nr;
	x->nr = 0;
	for (size_t i = 0; i < nr; i++)
		if (!add_all(x, &tables[i]))
			return -OW_CODE_TIMEOUT;
	if (x->nr > x->room)
		x->nr = x->room;
	return 0;
}

/* By start; of one start the longer first, and those without a size last. */
static int compare(const void *a, const void *b)
{
	const struct ow_function *f = a, *g = b;

	if (f->start != g->start)
		return f->start < g->start ? -1 : 1;
	if (f->sized != g->sized)
		return f->sized ? -1 : 1;
	if (f->end != g->end)
		return f->end > g->end ? -1 : 1;
	return 0;
}

/*
 * Of functions with one start, keep those that are the best name somewhere: a
 * shorter one must be better than the longer ones.
 */
static void drop_aliases(struct ow_symindex *x)
{
	struct ow_function *f = x->functions;
	size_t kept = 0;

	for (size_t i = 0; i < x->nr; i++) {
		struct ow_function *last = kept ? &f[kept - 1] : NULL;

		if (!last || last->start != f[i].start) {
			f[kept++] = f[i];
			continue;
		}
		if (!f[i].sized && last->sized)
			continue;
		if (!ow_function_better(&f[i], last))
			continue;
		if (last->end == f[i].end)
			kept--;
		f[kept++] = f[i];
	}
	x->nr = kept;
}

/* The functions that cover a place, as a stack: the innermost is on top. */
struct sweep {
	struct ow_symindex *x;
	uint32_t *open;
	size_t nr_open;
};

static void begin_piece(struct sweep *s, uint64_t start)
{
	struct ow_symindex *x = s->x;
	struct piece *last = x->pieces + x->nr_pieces - 1;
	uint32_t top = s->nr_open ? s->open[s->nr_open - 1] : NONE;

	if (x->nr_pieces == 0 || last->start != start)
		last = x->pieces + x->nr_pieces++;
	*last = (struct piece){ start, top };
}

/* Close the functions that end at or before until. */
static void close_functions(struct sweep *s, uint64_t until)
{
	const struct ow_function *f = s->x->functions;

	while (s->nr_open > 0 && f[s->open[s->nr_open - 1]].end <= until) {
		uint64_t end = f[s->open[--s->nr_open]].end;

		while (s->nr_open > 0 && f[s->open[s->nr_open - 1]].end <= end)
			s->nr_open--;
		begin_piece(s, end);
	}
}

/* Where a symbol without a size gives way to the next one. */
static uint64_t next_start(const struct ow_symindex *x, size_t i)
{
	uint64_t end = x->functions[i].end;

	if (i + 1 < x->nr && x->functions[i + 1].start < end)
		return x->functions[i + 1].start;
	return end;
}

/* Cut nested functions into pieces that don't overlap, in order of start. */
static void make_pieces(struct sweep *s)
{
	struct ow_symindex *x = s->x;

	for (size_t i = 0; i < x->nr; i++) {
		struct ow_function *f = &x->functions[i];

		close_functions(s, f->start);
		if (s->nr_open > 0 && ow_function_is_label(f))
			continue;
		if (!f->sized)
			f->end = next_start(x, i);
		s->open[s->nr_open++] = i;
		begin_piece(s, f->start);
	}
	close_functions(s, UINT64_MAX);
}

static bool make_index(struct ow_symindex *x)
{
	_cleanup_(ow_freep) uint32_t *open = NULL;
	struct sweep s = { .x = x };

	if (x->nr == 0)
		return true;
	qsort(x->functions, x->nr, sizeof(*x->functions), compare);
	drop_aliases(x);
	/* Each function begins one piece, and its end at most another. */
	x->pieces = malloc(2 * x->nr * sizeof(*x->pieces));
	open = malloc(x->nr * sizeof(*open));
	if (!x->pieces || !open)
		return false;
	s.open = open;
	make_pieces(&s);
	return true;
}

struct ow_symindex *ow_symindex_create(const struct ow_symbols *tables,
				       size_t nr, struct ow_owner own)
{
	struct ow_symindex *x = calloc(1, sizeof(*x));

	if (x)
		x->own = own;
	if (x && list_functions(x, tables, nr) == 0 && make_index(x))
		return x;
	ow_symindex_destroy(x);
	return NULL;
}

const struct ow_function *ow_symindex_find(const struct ow_symindex *x,
					   uint64_t vaddr)
{
	size_t low = 0, high = x->nr_pieces;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (x->pieces[mid].start <= vaddr)
			low = mid + 1;
		else
			high = mid;
	}
	if (low == 0 || x->pieces[low - 1].function == NONE)
		return NULL;
	return &x->functions[x->pieces[low - 1].function];
}

void ow_symindex_destroy(struct ow_symindex *x)
{
	if (!x)
		return;
	free(x->functions);
	free(x->pieces);
	ow_owner_give(&x->own, x->own.bytes);
	free(x);
}
