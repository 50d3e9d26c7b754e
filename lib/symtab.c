// SPDX-License-Identifier: BSD-2-Clause
#include "symtab.h"

#include <stdlib.h>

#include "budget.h"
#include "bulk.h"
#include "debugfile.h"
#include "error.h"
#include "function.h"
#include "minidebug.h"
#include "monotonic.h"
#include "object.h"
#include "symindex.h"
#include "symscan.h"

#define MOST_TABLES 2 /* .dynsym and one .symtab */

/* An index costs as much as so many passes, or more. */
#define MOST_PASSES 24

#define MOST_PASSED \
	((uint64_t)128 << 20) /* bytes, by all passes but the first */

#define INDEX_PASSES 2 /* that an index is made by */

/* ns until tables that there was no time for are tried again, twice as many each time. */
#define FIRST_WAIT     1000000000ULL
#define MOST_DOUBLINGS 6

struct ow_symtab {
	struct ow_object *obj;            /* that it is of; borrowed */
	struct ow_debuginfod *debuginfod; /* likewise, or NULL */
	struct ow_symbols tables[MOST_TABLES];
	size_t nr_tables;
	/* Tables are in the object and in these, or NULL. */
	struct ow_object *debug; /* is the object's */
	struct ow_object *mini;  /* owned */

	struct ow_symscan *known; /* what was prepared, in order of vaddr */
	size_t nr_known;
	struct ow_symscan last; /* what was not */
	uint64_t size;          /* bytes of all tables */
	unsigned int passes;
	struct ow_symindex *index; /* NULL: not needed yet */
	bool index_tried;

	bool is_late;       /* there was no time for a table, yet */
	uint64_t tried;     /* CLOCK_MONOTONIC, ns: the last time then, */
	unsigned int tries; /* of so many */
};

static bool add_table(struct ow_symtab *tab, const struct ow_object *obj,
		      uint32_t type)
{
	struct ow_symbols *table = &tab->tables[tab->nr_tables];
	uint64_t size;

	if (!obj || !ow_elfsyms_init(&table->syms, &obj->elf, type))
		return false;
	size = ow_elfsyms_size(&table->syms);
	if (!ow_bulk_take(OW_BULK_SYMBOLS, &obj->owner, size)) {
		ow_object_refuse(obj, -OW_CODE_TIMEOUT,
				 type == OW_SHT_DYNSYM ? "its .dynsym" :
							 "its .symtab");
		tab->is_late = true;
		return false;
	}
	table->elf = &obj->elf;
	tab->size += size;
	tab->nr_tables++;
	return true;
}

/*
 * Where one .symtab is, a second knows nothing that the first doesn't.  The
 * one in .gnu_debugdata is reduced, so it is the last to ask.
 */
static void add_tables(struct ow_symtab *tab)
{
	struct ow_object *obj = tab->obj;

	add_table(tab, obj, OW_SHT_DYNSYM);
	if (add_table(tab, obj, OW_SHT_SYMTAB))
		return;
	tab->debug = ow_debugfile_of(obj, tab->debuginfod);
	if (add_table(tab, tab->debug, OW_SHT_SYMTAB))
		return;
	if (!tab->mini)
		tab->mini = ow_minidebug_open(obj, &tab->is_late);
	add_table(tab, tab->mini, OW_SHT_SYMTAB);
}

/* There was no time, once more. */
static void note_late(struct ow_symtab *tab)
{
	tab->is_late = true;
	tab->tries++;
	tab->tried = ow_now_ns();
}

/* Add all tables that there is time for. */
static void take_tables(struct ow_symtab *tab)
{
	tab->is_late = false;
	add_tables(tab);
	if (tab->is_late)
		note_late(tab);
}

/* Return true if enough time went by since the last of so many tries. */
static bool has_waited(const struct ow_symtab *tab)
{
	unsigned int doublings = tab->tries - 1;

	if (doublings > MOST_DOUBLINGS)
		doublings = MOST_DOUBLINGS;
	return ow_now_ns() - tab->tried >= FIRST_WAIT << doublings;
}

/* If it is time to, try again what there was no time for: tables are read anew. */
static void retry_tables(struct ow_symtab *tab)
{
	if (!tab->is_late || !has_waited(tab) ||
	    !ow_bulk_may_retry(&tab->obj->owner, tab->tries))
		return;
	ow_symindex_destroy(tab->index);
	tab->index = NULL;
	tab->index_tried = false;
	tab->nr_tables = tab->nr_known = tab->size = tab->passes = 0;
	take_tables(tab);
}

struct ow_symtab *ow_symtab_create(struct ow_object *obj,
				   struct ow_debuginfod *debuginfod)
{
	struct ow_symtab *tab = calloc(1, sizeof(*tab));

	if (!tab)
		return NULL;
	tab->obj = obj;
	tab->debuginfod = debuginfod;
	take_tables(tab);
	return tab;
}

static int compare(const void *a, const void *b)
{
	const uint64_t *v = a, *w = b;

	return (*v > *w) - (*v < *w);
}

/* What a pass is to find: each address once; false when out of memory. */
static bool want(struct ow_symtab *tab, uint64_t *vaddrs, size_t nr)
{
	size_t kept = 0;
	void *room = realloc(tab->known, nr * sizeof(*tab->known));

	if (!room)
		return false;
	tab->known = room;
	qsort(vaddrs, nr, sizeof(*vaddrs), compare);
	for (size_t i = 0; i < nr; i++)
		if (i == 0 || vaddrs[i] != vaddrs[i - 1])
			tab->known[kept++].vaddr = vaddrs[i];
	tab->nr_known = kept;
	return true;
}

/*
 * Take passes from what the run may look through of the user's files, but for the first
 * one: it was taken with the tables.
 */
static bool take_passes(const struct ow_symtab *tab, unsigned int nr)
{
	return ow_bulk_take(OW_BULK_SYMBOLS, &tab->obj->owner, nr * tab->size);
}

/* Spend a pass; false if there is to be an index instead. */
static bool scan(struct ow_symtab *tab, struct ow_symscan *wanted, size_t nr)
{
	if (tab->index_tried || tab->passes == MOST_PASSES ||
	    tab->passes * tab->size > MOST_PASSED ||
	    (tab->passes > 0 && !take_passes(tab, 1)))
		return false;
	tab->passes++;
	if (ow_symscan_run(tab->tables, tab->nr_tables, &tab->obj->owner,
			   wanted, nr))
		return true;
	tab->passes = MOST_PASSES;
	return false;
}

void ow_symtab_prepare(struct ow_symtab *tab, uint64_t *vaddrs, size_t nr)
{
	retry_tables(tab);
	tab->nr_known = 0;
	if (nr > 0 && want(tab, vaddrs, nr) &&
	    !scan(tab, tab->known, tab->nr_known))
		tab->nr_known = 0;
}

static const struct ow_symscan *find_known(const struct ow_symtab *tab,
					   uint64_t vaddr)
{
	size_t low = 0, high = tab->nr_known;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (tab->known[mid].vaddr == vaddr)
			return &tab->known[mid];
		if (tab->known[mid].vaddr < vaddr)
			low = mid + 1;
		else
			high = mid;
	}
	return NULL;
}

/* There is no index: for want of time, and then there may be later; or of memory. */
static void lack_index(struct ow_symtab *tab)
{
	uint64_t since = 0;
	bool has_time = ow_bulk_has_time(&tab->obj->owner, &since);

	if (!has_time && !tab->is_late)
		note_late(tab);
	ow_object_refuse(tab->obj,
			 has_time ? -OW_CODE_MEMORY : -OW_CODE_TIMEOUT,
			 "an index of its symbols");
}

/* Where the run may look through no more symbols now, it may later. */
static const struct ow_function *find_in_index(struct ow_symtab *tab,
					       uint64_t vaddr)
{
	if (!tab->index_tried && !take_passes(tab, INDEX_PASSES)) {
		ow_object_refuse(tab->obj, -OW_CODE_TIMEOUT,
				 "some of its symbols");
		return NULL;
	}
	if (!tab->index_tried) {
		tab->index =
			ow_symindex_create(tab->tables, tab->nr_tables,
					   ow_owner_beside(&tab->obj->owner));
		if (!tab->index)
			lack_index(tab);
	}
	tab->index_tried = true;
	return tab->index ? ow_symindex_find(tab->index, vaddr) : NULL;
}

static const struct ow_function *find_function(struct ow_symtab *tab,
					       uint64_t vaddr)
{
	const struct ow_symscan *known = find_known(tab, vaddr);

	if (!known) {
		tab->last.vaddr = vaddr;
		if (scan(tab, &tab->last, 1))
			known = &tab->last;
	}
	if (!known || known->state == OW_SYMSCAN_UNSURE)
		return find_in_index(tab, vaddr);
	return known->state == OW_SYMSCAN_FOUND ? &known->function : NULL;
}

bool ow_symtab_find(struct ow_symtab *tab, uint64_t vaddr,
		    struct ow_symbol *ret)
{
	const struct ow_function *f;

	retry_tables(tab);
	f = find_function(tab, vaddr);
	if (!f)
		return false;
	*ret = (struct ow_symbol){
		.name = f->name,
		.vaddr = f->start,
		.size = f->sized ? f->end - f->start : 0,
	};
	return true;
}

bool ow_symtab_is_cut(const struct ow_symtab *tab)
{
	return ow_object_is_cut(tab->debug);
}

void ow_symtab_destroy(struct ow_symtab *tab)
{
	if (!tab)
		return;
	free(tab->known);
	ow_symindex_destroy(tab->index);
	ow_object_close(tab->mini);
	free(tab);
}
