// SPDX-License-Identifier: BSD-2-Clause
#include "symscan.h"

#include <stdlib.h>

#include "error.h"

#define BUCKETS        1024
#define MOST_OVERLAPS  8  /* functions that cover one address, on average */
#define SPARE_OVERLAPS 64 /* and that some more of may */

/* The addresses, and which is the first in each part of the space they span. */
struct scan {
	struct ow_symscan *wanted;
	size_t nr;
	uint64_t first, last;
	unsigned int shift;
	uint32_t from[BUCKETS + 1];
	size_t overlaps_left;
	const struct ow_owner *own;
	uint64_t since; /* ow_function_has_time() */
};

static void scan_init(struct scan *s, struct ow_symscan *wanted, size_t nr)
{
	size_t bucket = 0;

	*s = (struct scan){ .wanted = wanted, .nr = nr };
	s->first = wanted[0].vaddr;
	s->last = wanted[nr - 1].vaddr;
	while ((s->last - s->first) >> s->shift >= BUCKETS)
		s->shift++;
	for (size_t i = 0; i < nr; i++) {
		size_t own = (wanted[i].vaddr - s->first) >> s->shift;

		while (bucket <= own)
			s->from[bucket++] = i;
		wanted[i].reach = 0;
		wanted[i].state = OW_SYMSCAN_NONE;
	}
	while (bucket <= BUCKETS)
		s->from[bucket++] = nr;
	s->overlaps_left = nr * MOST_OVERLAPS + SPARE_OVERLAPS;
}

/* The first of the addresses that is not below start; nr if there is none. */
static size_t wanted_from(const struct scan *s, uint64_t start)
{
	size_t bucket, low, high;

	if (start <= s->first)
		return 0;
	if (start > s->last)
		return s->nr;
	bucket = (start - s->first) >> s->shift;
	low = s->from[bucket];
	high = s->from[bucket + 1];
	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (s->wanted[mid].vaddr < start)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/*
 * Functions in functions win by a later start, and aliases by the better name.
 * Of one name twice the index keeps the longer.
 */
static bool wins(const struct ow_function *f, const struct ow_symscan *w)
{
	const struct ow_function *g = &w->function;

	if (w->state == OW_SYMSCAN_NONE || f->start != g->start)
		return w->state == OW_SYMSCAN_NONE || f->start > g->start;
	if (ow_function_better(f, g))
		return true;
	return f->end > g->end && !ow_function_better(g, f);
}

/* f covers wanted[i], and maybe more behind that. */
static bool offer(struct scan *s, const struct ow_function *f, size_t i)
{
	for (; i < s->nr && s->wanted[i].vaddr < f->end; i++) {
		if (s->overlaps_left-- == 0)
			return false;
		if (!wins(f, &s->wanted[i]))
			continue;
		s->wanted[i].function = *f;
		s->wanted[i].state = OW_SYMSCAN_FOUND;
	}
	return true;
}

/*
 * Symbol i may be a function that covers wanted[at] or, as a label, what comes
 * behind that.
 */
static bool take(struct scan *s, const struct ow_symbols *table, size_t i,
		 size_t at)
{
	struct ow_elfsym sym;
	struct ow_function f;

	if (!ow_elfsyms_get(&table->syms, i, &sym) ||
	    !ow_function_from(table->elf, &sym, &f))
		return true;
	if (!ow_function_is_label(&f))
		return offer(s, &f, at);
	if (f.end > s->wanted[at].reach)
		s->wanted[at].reach = f.end;
	return true;
}

/* Most symbols cover none of the addresses, and their names are not read. */
static bool scan_table(struct scan *s, const struct ow_symbols *table)
{
	const struct ow_elfsyms *syms = &table->syms;
	struct ow_elfsym sym;

	for (size_t i = 1; i < syms->nr; i++) {
		size_t at;

		if (!ow_function_has_time(i, s->own, &s->since))
			return false;
		ow_elfsyms_place(syms, i, &sym);
		if (!ow_function_type(sym.type))
			continue;
		at = wanted_from(s, sym.value);
		if (at == s->nr ||
		    (sym.size > 0 &&
		     s->wanted[at].vaddr - sym.value >= sym.size))
			continue;
		if (!take(s, table, i, at))
			return false;
	}
	return true;
}

/*
 * A label names an address that no function covers, unless it stands in a
 * function or is followed by something else: only the index tells.
 */
static void mark_unsure(struct scan *s)
{
	uint64_t reach = 0;

	for (size_t i = 0; i < s->nr; i++) {
		struct ow_symscan *w = &s->wanted[i];

		if (w->reach > reach)
			reach = w->reach;
		if (w->state == OW_SYMSCAN_NONE && w->vaddr < reach)
			w->state = OW_SYMSCAN_UNSURE;
	}
}

bool ow_symscan_run(const struct ow_symbols *tables, size_t nr_tables,
		    const struct ow_owner *own, struct ow_symscan *wanted,
		    size_t nr)
{
	_cleanup_(ow_freep) struct scan *s = NULL;

	if (nr == 0)
		return true;
	s = nr < UINT32_MAX ? malloc(sizeof(*s)) : NULL;
	if (!s)
		return false;
	scan_init(s, wanted, nr);
	s->own = own;
	for (size_t i = 0; i < nr_tables; i++)
		if (!scan_table(s, &tables[i]))
			return false;
	mark_unsure(s);
	return true;
}
