// SPDX-License-Identifier: BSD-2-Clause
#include "scopes.h"

#include <dwarf.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "budget.h"
#include "grow.h"
#include "spans.h"

#define MOST_NESTED   64 /* namespaces and types, in each other */
#define MOST_OVERLAPS 64 /* functions that are looked at for an address */
#define SKIPPED       4  /* bytes of DIEs, that take as long as one by itself */

/* A range of a function that no other one holds. */
struct function {
	struct ow_span span; /* first */
	void *die;           /* its address */
};

struct unit {
	const void *key; /* the address of its DIE; first */
	struct function *list;
	size_t nr, room;
};

static bool spend(struct ow_scopes *s, uint64_t work)
{
	if (s->work_left < work) {
		s->work_left = 0;
		return false;
	}
	s->work_left -= work;
	return true;
}

static bool is_function(Dwarf_Die *die)
{
	int tag = dwarf_tag(die);

	return tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine ||
	       tag == DW_TAG_entry_point;
}

/* What has addresses, and those of what is in it (DWARF 5, 3.3 to 3.8). */
static bool is_code(Dwarf_Die *die)
{
	switch (dwarf_tag(die)) {
	case DW_TAG_subprogram:
	case DW_TAG_inlined_subroutine:
	case DW_TAG_entry_point:
	case DW_TAG_lexical_block:
	case DW_TAG_with_stmt:
	case DW_TAG_catch_block:
	case DW_TAG_try_block: return true;
	default: return false;
	}
}

/* What has none, but may hold functions: rustc puts all of them in such. */
static bool is_container(Dwarf_Die *die)
{
	switch (dwarf_tag(die)) {
	case DW_TAG_namespace:
	case DW_TAG_module:
	case DW_TAG_structure_type:
	case DW_TAG_class_type:
	case DW_TAG_union_type:
	case DW_TAG_interface_type:
	case DW_TAG_enumeration_type:
	case DW_TAG_variant_part:
	case DW_TAG_variant: return true;
	default: return false;
	}
}

/*
 * Move on to the next DIE beside it; false if there is none.  Without
 * DW_AT_sibling libdw goes through all that is in this one.
 */
static bool next(struct ow_scopes *s, Dwarf_Die *die)
{
	bool goes_through = dwarf_haschildren(die) > 0 &&
			    !dwarf_hasattr(die, DW_AT_sibling);
	const char *from = die->addr;
	uint64_t work = 1;

	if (s->work_left == 0 || dwarf_siblingof(die, die) != 0)
		return false;
	if (goes_through)
		work += (uint64_t)((const char *)die->addr - from) / SKIPPED;
	return spend(s, work);
}

/* What takes too much memory is no more work to be done. */
static bool add(struct ow_scopes *s, struct unit *u, const Dwarf_Die *die,
		uint64_t start, uint64_t end)
{
	size_t before = u->room;

	if (!ow_grow(&u->list, &u->room, u->nr + 1, sizeof(*u->list)))
		return false;
	if (!ow_budget_take(&s->own, (u->room - before) * sizeof(*u->list))) {
		s->work_left = 0;
		return false;
	}
	u->list[u->nr++] = (struct function){ { start, end, 0 }, die->addr };
	return true;
}

static bool add_function(struct ow_scopes *s, struct unit *u, Dwarf_Die *die)
{
	Dwarf_Addr base, start, end;
	ptrdiff_t at = 0;

	while ((at = dwarf_ranges(die, at, &base, &start, &end)) > 0)
		if (!spend(s, 1) ||
		    (start < end && !add(s, u, die, start, end)))
			return false;
	return true;
}

/* All that is not in another function. */
static void add_functions(struct ow_scopes *s, struct unit *u, Dwarf_Die *unit)
{
	Dwarf_Die path[MOST_NESTED];
	size_t nr = dwarf_child(unit, &path[0]) == 0;

	while (nr > 0) {
		Dwarf_Die *die = &path[nr - 1];

		if (is_code(die) && !add_function(s, u, die))
			return;
		if (is_container(die) && spend(s, 1) && nr < MOST_NESTED &&
		    dwarf_child(die, &path[nr]) == 0) {
			nr++;
			continue;
		}
		while (nr > 0 && !next(s, &path[nr - 1]))
			nr--;
	}
}

/* By start; of one start the first DIE comes last, so that it is found. */
static int compare(const void *a, const void *b)
{
	const struct function *f = a, *g = b;

	if (f->span.start != g->span.start)
		return f->span.start < g->span.start ? -1 : 1;
	return (f->die < g->die) - (f->die > g->die);
}

static int compare_units(const void *a, const void *b)
{
	const struct unit *u = a, *v = b;

	return (u->key > v->key) - (u->key < v->key);
}

static struct ow_spans spans_of(const struct unit *u)
{
	return (struct ow_spans){ u->list, u->nr, sizeof(*u->list),
				  MOST_OVERLAPS };
}

static void free_unit(void *unit)
{
	free(((struct unit *)unit)->list);
	free(unit);
}

/* What is known of the unit, which is found out first if need be; or NULL. */
static const struct unit *unit_of(struct ow_scopes *s, Dwarf_Die *die)
{
	struct unit *u = calloc(1, sizeof(*u));
	struct ow_spans spans;
	struct unit **known;

	if (!u)
		return NULL;
	u->key = die->addr;
	known = tsearch(u, &s->units, compare_units);
	if (!known || *known != u) {
		free(u);
		return known ? *known : NULL;
	}
	add_functions(s, u, die);
	if (u->nr > 0)
		qsort(u->list, u->nr, sizeof(*u->list), compare);
	spans = spans_of(u);
	ow_spans_link(&spans);
	return u;
}

static bool find_function(struct ow_scopes *s, Dwarf_Die *unit, uint64_t vaddr,
			  Dwarf_Die *ret)
{
	const struct unit *u = unit_of(s, unit);
	const struct function *f;
	struct ow_spans spans;
	size_t at;

	if (!u)
		return false;
	spans = spans_of(u);
	at = u->nr;
	f = ow_spans_before(&spans, vaddr, &at);
	if (!f)
		return false;
	*ret = (Dwarf_Die){ .addr = f->die, .cu = unit->cu };
	return true;
}

static bool covers(struct ow_scopes *s, Dwarf_Die *die, uint64_t vaddr)
{
	Dwarf_Addr base, start, end;
	ptrdiff_t at = 0;

	while (spend(s, 1) &&
	       (at = dwarf_ranges(die, at, &base, &start, &end)) > 0)
		if (start <= vaddr && vaddr < end)
			return true;
	return false;
}

/* The functions on the way down, the innermost last. */
struct kept {
	Dwarf_Die *list;
	size_t nr, max;
};

/* What it is not inlined into is of no interest. */
static void keep(struct kept *k, Dwarf_Die *die)
{
	if (!is_function(die))
		return;
	if (dwarf_tag(die) != DW_TAG_inlined_subroutine)
		k->nr = 0;
	if (k->nr == k->max)
		memmove(k->list, k->list + 1, --k->nr * sizeof(*k->list));
	k->list[k->nr++] = *die;
}

static void reverse(Dwarf_Die *list, size_t nr)
{
	for (size_t i = 0; i < nr / 2; i++) {
		Dwarf_Die die = list[i];

		list[i] = list[nr - 1 - i];
		list[nr - 1 - i] = die;
	}
}

/* Go down, each time into the first DIE that covers vaddr. */
static void descend(struct ow_scopes *s, Dwarf_Die parent, uint64_t vaddr,
		    struct kept *k)
{
	Dwarf_Die die;

	while (spend(s, 1) && dwarf_child(&parent, &die) == 0) {
		while (!is_code(&die) || !covers(s, &die, vaddr))
			if (!next(s, &die))
				return;
		keep(k, &die);
		parent = die;
	}
}

size_t ow_scopes_find(struct ow_scopes *s, Dwarf_Die *unit, uint64_t vaddr,
		      Dwarf_Die *list, size_t max)
{
	struct kept k = { .list = list, .max = max };
	Dwarf_Die die;

	if (!find_function(s, unit, vaddr, &die))
		return 0;
	keep(&k, &die);
	descend(s, die, vaddr, &k);
	reverse(list, k.nr);
	return k.nr;
}

void ow_scopes_deinit(struct ow_scopes *s)
{
	tdestroy(s->units, free_unit);
	s->units = NULL;
	ow_budget_give(&s->own, s->own);
}
