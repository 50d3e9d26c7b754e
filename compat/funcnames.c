// SPDX-License-Identifier: BSD-2-Clause
#include "funcnames.h"

#include <libunwind.h>
#include <stdlib.h>
#include <string.h>

#include "budget.h"
#include "bulk.h"
#include "error.h"
#include "filemap.h"
#include "identity.h"
#include "object.h"
#include "procname.h"

/* An index costs as much as so many passes, or more. */
#define MOST_PASSES 24
#define MOST_PASSED \
	((uint64_t)128 << 20) /* bytes, by all passes but the first */

#define PIECE     (4096 * OW_SYM64_SIZE) /* bytes that are read at once */
#define LARGE     ((uint64_t)1 << 20)    /* bytes of a table that is large */
#define NO_SYMBOL UINT32_MAX

/* Symbols are counted through the tables, in their order. */
struct ow_funcname {
	uint64_t start;
	uint32_t symbol;
	uint32_t name; /* offset in the strings of its table */
};

/* What a pass over the symbols does with each function. */
struct pass {
	void (*visit)(struct pass *p, const struct ow_funcname *f);
	uint64_t vaddr;          /* that is looked for */
	struct ow_funcname best; /* of it; symbol is NO_SYMBOL: none */
	struct ow_funcname *list;
	size_t nr, room;
};

static void add_table(struct ow_funcnames *n, uint32_t type)
{
	struct ow_elfsyms *t = &n->tables[n->nr_tables];
	uint64_t size;

	if (!ow_elfsyms_init(t, &n->obj->elf, type))
		return;
	size = ow_elfsyms_size(t);
	if (!ow_bulk_take(OW_BULK_SYMBOLS, &n->obj->owner, size)) {
		ow_object_refuse(n->obj, -OW_CODE_TIMEOUT,
				 type == OW_SHT_DYNSYM ? "its .dynsym" :
							 "its .symtab");
		return;
	}
	n->size += size;
	n->nr_tables++;
}

void ow_funcnames_init(struct ow_funcnames *n, const struct ow_object *obj)
{
	*n = (struct ow_funcnames){ .obj = obj };
	add_table(n, OW_SHT_DYNSYM);
	add_table(n, OW_SHT_SYMTAB);
}

/*
 * Return true if the table is large and in a file of another user.  A hole of a file that is
 * memory would be filled by a look through the mapping, at our cost.
 */
static bool is_read(const struct ow_funcnames *n, const struct ow_elfsyms *t)
{
	return n->obj->map && ow_elfsyms_size(t) >= LARGE &&
	       !ow_identity_is_ours(&n->obj->file);
}

/*
 * The symbols of a part of a table, which are read into buf unless that is NULL.  Return NULL if
 * the file ends early.
 */
static const uint8_t *part_of(const struct ow_funcnames *n, const uint8_t *at,
			      size_t size, uint8_t *buf)
{
	ssize_t got = -1;

	if (buf)
		got = ow_filemap_read(n->obj->map, buf, size,
				      (uint64_t)(at - n->obj->bytes));
	if (got < 0)
		return at;
	return (size_t)got == size ? buf : NULL;
}

/* Symbols from number first on, of all tables. */
static void visit_part(struct pass *p, const struct ow_elfsyms *part,
		       uint32_t first)
{
	struct ow_funcname f;
	struct ow_elfsym sym;
	size_t i;

	for (i = 0; i < part->nr; i++) {
		ow_elfsyms_place(part, i, &sym);
		if (sym.type != OW_STT_FUNC || sym.section == 0 ||
		    !ow_elfsyms_get(part, i, &sym))
			continue;
		f = (struct ow_funcname){
			.start = sym.value,
			.symbol = first + (uint32_t)i,
			.name = (uint32_t)(sym.name - part->names),
		};
		p->visit(p, &f);
	}
}

/* Return false when out of memory, or if the file ends early. */
static bool visit_table(const struct ow_funcnames *n, struct pass *p,
			const struct ow_elfsyms *t, uint32_t first)
{
	const size_t each = t->is_64 ? OW_SYM64_SIZE : OW_SYM32_SIZE;
	_cleanup_(ow_freep) uint8_t *buf = NULL;
	struct ow_elfsyms part = *t;
	size_t at;

	if (is_read(n, t)) {
		buf = malloc(PIECE);
		if (!buf)
			return false;
	}
	for (at = 0; at < t->nr; at += part.nr) {
		part.nr = t->nr - at < PIECE / each ? t->nr - at : PIECE / each;
		part.syms =
			part_of(n, t->syms + at * each, part.nr * each, buf);
		if (!part.syms)
			return false;
		visit_part(p, &part, first + (uint32_t)at);
	}
	return true;
}

static bool run_pass(const struct ow_funcnames *n, struct pass *p)
{
	uint32_t first = 0;
	size_t i;

	for (i = 0; i < n->nr_tables; i++) {
		if (!visit_table(n, p, &n->tables[i], first))
			return false;
		first += (uint32_t)n->tables[i].nr;
	}
	return true;
}

/* Of functions with one start, the first symbol stays. */
static void keep_nearer(struct pass *p, const struct ow_funcname *f)
{
	if (f->start > p->vaddr ||
	    (p->best.symbol != NO_SYMBOL && f->start <= p->best.start))
		return;
	p->best = *f;
}

static void keep_all(struct pass *p, const struct ow_funcname *f)
{
	if (p->nr < p->room)
		p->list[p->nr] = *f;
	p->nr++;
}

static int compare(const void *a, const void *b)
{
	const struct ow_funcname *f = a, *g = b;

	if (f->start != g->start)
		return f->start < g->start ? -1 : 1;
	return (f->symbol > g->symbol) - (f->symbol < g->symbol);
}

/* Once to count the functions, once to keep them. */
static bool list_functions(struct ow_funcnames *n, struct pass *p)
{
	if (!run_pass(n, p) ||
	    !ow_budget_take(&n->own, p->nr * sizeof(*p->list)))
		return false;
	n->index = malloc(p->nr * sizeof(*p->list) + 1);
	if (!n->index)
		return false;
	p->list = n->index;
	p->room = p->nr;
	p->nr = 0;
	return run_pass(n, p);
}

/* Of functions with one start, the first symbol stays. */
static void drop_aliases(struct ow_funcnames *n)
{
	size_t i, kept = 0;

	for (i = 0; i < n->nr; i++)
		if (kept == 0 || n->index[kept - 1].start != n->index[i].start)
			n->index[kept++] = n->index[i];
	n->nr = kept;
}

static void make_index(struct ow_funcnames *n)
{
	struct pass p = { .visit = keep_all };

	n->is_indexed = true;
	if (!list_functions(n, &p)) {
		ow_object_refuse(n->obj, -OW_CODE_MEMORY,
				 "an index of its symbols");
		return;
	}
	n->nr = p.nr < p.room ? p.nr : p.room; /* the file may change */
	qsort(n->index, n->nr, sizeof(*n->index), compare);
	drop_aliases(n);
}

/* The function that begins last at or before vaddr, or NULL. */
static const struct ow_funcname *find_in_index(struct ow_funcnames *n,
					       uint64_t vaddr)
{
	size_t low = 0, high, mid;

	if (!n->is_indexed)
		make_index(n);
	for (high = n->nr; low < high;) {
		mid = low + (high - low) / 2;
		if (n->index[mid].start <= vaddr)
			low = mid + 1;
		else
			high = mid;
	}
	return low > 0 ? &n->index[low - 1] : NULL;
}

static bool find_by_pass(struct ow_funcnames *n, uint64_t vaddr,
			 struct ow_funcname *ret)
{
	struct pass p = {
		.visit = keep_nearer,
		.vaddr = vaddr,
		.best.symbol = NO_SYMBOL,
	};
	bool is_whole = run_pass(n, &p);

	n->passes++;
	*ret = p.best;
	return is_whole && p.best.symbol != NO_SYMBOL;
}

static bool find_function(struct ow_funcnames *n, uint64_t vaddr,
			  struct ow_funcname *ret)
{
	const struct ow_funcname *f;

	if (!n->is_indexed && n->passes < MOST_PASSES &&
	    n->passes * n->size <= MOST_PASSED)
		return find_by_pass(n, vaddr, ret);
	f = find_in_index(n, vaddr);
	if (f)
		*ret = *f;
	return f;
}

int ow_funcnames_find(struct ow_funcnames *n, uint64_t vaddr, char *buf,
		      size_t size, uint64_t *off_ret)
{
	const struct ow_elfsyms *t = n->tables;
	struct ow_funcname f;
	const char *name;

	if (!find_function(n, vaddr, &f))
		return -UNW_ENOINFO;
	if (off_ret)
		*off_ret = vaddr - f.start;
	if (f.symbol >= t->nr)
		t++;
	name = t->names + f.name;
	if (size > 0 && *name == '\0')
		return -UNW_ENOINFO;
	return ow_procname_copy(buf, size, name, strnlen(name, size));
}

void ow_funcnames_clear(struct ow_funcnames *n)
{
	free(n->index);
	ow_budget_give(&n->own, n->own);
	*n = (struct ow_funcnames){ 0 };
}
