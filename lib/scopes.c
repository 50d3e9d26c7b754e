// SPDX-License-Identifier: BSD-2-Clause
#include "scopes.h"

#include <dwarf.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "dies.h"
#include "effort.h"
#include "grow.h"
#include "ranges.h"
#include "spans.h"

#define MOST_OVERLAPS 64 /* functions that are looked at for an address */

/* A range of a function that no other one holds. */
struct function {
	struct ow_span span; /* first */
	const uint8_t *die;
};

struct unit {
	const void *key; /* the address of its DIE; first */
	Dwarf_CU *cu;
	struct ow_dies dies;
	struct function *list;
	size_t nr, room;
};

#define SCANS 8 /* times that libdw looks at all attributes of a DIE */

static bool is_function(unsigned int tag)
{
	return tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine ||
	       tag == DW_TAG_entry_point;
}

/* What has addresses, and those of what is in it (DWARF 5, 3.3 to 3.8). */
static bool is_code(unsigned int tag)
{
	switch (tag) {
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
static bool is_container(unsigned int tag)
{
	switch (tag) {
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

/* The sections of the unit's file, or NULL where it is a split one. */
static const struct ow_unitcost *cost_of(const struct ow_scopes *s,
					 const struct unit *u)
{
	return dwarf_cu_getdwarf(u->cu) == s->main ? s->cost : NULL;
}

static struct ow_ranges ranges_of(struct ow_scopes *s, const struct unit *u,
				  const struct ow_die *die)
{
	const Dwarf_Die own = { .addr = (void *)die->at, .cu = u->cu };
	struct ow_ranges r;

	ow_ranges_init(&r, &own, die->nr_attributes, cost_of(s, u),
		       &s->work_left);
	if (!die->has_addresses ||
	    !ow_effort_use(&s->work_left, SCANS * die->nr_attributes))
		r.at = -1;
	return r;
}

/* What takes too much memory is no more work to be done. */
static bool add(struct ow_scopes *s, struct unit *u, const struct ow_ranges *r)
{
	size_t before = u->room;

	if (!ow_grow(&u->list, &u->room, u->nr + 1, sizeof(*u->list)))
		return false;
	if (!ow_owner_take(&s->own, (u->room - before) * sizeof(*u->list))) {
		s->work_left = 0;
		return false;
	}
	u->list[u->nr++] = (struct function){ { r->start, r->end, 0 },
					      (const uint8_t *)r->die.addr };
	return true;
}

static bool add_function(struct ow_scopes *s, struct unit *u,
			 const struct ow_die *die)
{
	struct ow_ranges r = ranges_of(s, u, die);

	while (ow_ranges_next(&r))
		if (r.start < r.end && !add(s, u, &r))
			return false;
	return s->work_left > 0;
}

/* All that is not in another function, from the first DIE on. */
static void add_functions(struct ow_scopes *s, struct unit *u,
			  const uint8_t *at)
{
	struct ow_die die;
	size_t depth = 0;

	while (at) {
		if (ow_dies_is_end(&u->dies, at)) {
			if (depth-- == 0 || !ow_effort_use(&s->work_left, 1))
				return;
			at++;
			continue;
		}
		if (!ow_dies_read(&u->dies, at, &die) ||
		    (is_code(die.tag) && !add_function(s, u, &die)))
			return;
		if (is_container(die.tag) && die.has_children) {
			depth++;
			at = die.after;
		} else {
			at = ow_dies_after(&u->dies, &die);
		}
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
	struct unit *u = unit;

	ow_dies_deinit(&u->dies);
	free(u->list);
	free(u);
}

static void index_unit(struct ow_scopes *s, struct unit *u, Dwarf_Die *unit)
{
	struct ow_spans spans;
	struct ow_die die;

	u->cu = unit->cu;
	if (!ow_dies_init(&u->dies, unit, cost_of(s, u), &s->work_left,
			  &s->own) ||
	    !ow_dies_read(&u->dies, unit->addr, &die) || !die.has_children)
		return;
	add_functions(s, u, die.after);
	if (u->nr > 0)
		qsort(u->list, u->nr, sizeof(*u->list), compare);
	spans = spans_of(u);
	ow_spans_link(&spans);
}

/* What is known of the unit, which is found out first if need be; or NULL. */
static struct unit *unit_of(struct ow_scopes *s, Dwarf_Die *die)
{
	struct unit *u = calloc(1, sizeof(*u));
	struct unit **known;

	if (!u)
		return NULL;
	u->key = die->addr;
	known = tsearch(u, &s->units, compare_units);
	if (!known || *known != u) {
		free(u);
		return known ? *known : NULL;
	}
	index_unit(s, u, die);
	return u;
}

static const struct function *find_function(const struct unit *u,
					    uint64_t vaddr)
{
	struct ow_spans spans = spans_of(u);
	size_t at = u->nr;

	return ow_spans_before(&spans, vaddr, &at);
}

static bool covers(struct ow_scopes *s, const struct unit *u,
		   const struct ow_die *die, uint64_t vaddr)
{
	struct ow_ranges r = ranges_of(s, u, die);

	while (ow_ranges_next(&r))
		if (r.start <= vaddr && vaddr < r.end)
			return true;
	return false;
}

/* The functions on the way down, the innermost last. */
struct kept {
	Dwarf_Die *list;
	size_t nr, max;
};

/* What it is not inlined into is of no interest. */
static void keep(struct kept *k, const struct unit *u, const struct ow_die *die)
{
	if (!is_function(die->tag))
		return;
	if (die->tag != DW_TAG_inlined_subroutine)
		k->nr = 0;
	if (k->nr == k->max)
		memmove(k->list, k->list + 1, --k->nr * sizeof(*k->list));
	k->list[k->nr++] = (Dwarf_Die){ .addr = (void *)die->at, .cu = u->cu };
}

static void reverse(Dwarf_Die *list, size_t nr)
{
	for (size_t i = 0; i < nr / 2; i++) {
		Dwarf_Die die = list[i];

		list[i] = list[nr - 1 - i];
		list[nr - 1 - i] = die;
	}
}

/* The first DIE of those at a place that covers vaddr. */
static bool find_covering(struct ow_scopes *s, const struct unit *u,
			  const uint8_t *at, uint64_t vaddr, struct ow_die *ret)
{
	while (at && ow_dies_read(&u->dies, at, ret)) {
		if (is_code(ret->tag) && covers(s, u, ret, vaddr))
			return true;
		at = ow_dies_after(&u->dies, ret);
	}
	return false;
}

size_t ow_scopes_find(struct ow_scopes *s, Dwarf_Die *unit, uint64_t vaddr,
		      Dwarf_Die *list, size_t max)
{
	struct kept k = { .list = list, .max = max };
	const struct unit *u = unit_of(s, unit);
	const struct function *f = u ? find_function(u, vaddr) : NULL;
	struct ow_die die;

	if (!f || !ow_dies_read(&u->dies, f->die, &die))
		return 0;
	do
		keep(&k, u, &die);
	while (die.has_children && find_covering(s, u, die.after, vaddr, &die));
	reverse(list, k.nr);
	return k.nr;
}

void ow_scopes_deinit(struct ow_scopes *s)
{
	tdestroy(s->units, free_unit);
	s->units = NULL;
	ow_owner_give(&s->own, s->own.bytes);
}
