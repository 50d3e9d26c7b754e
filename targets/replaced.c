// SPDX-License-Identifier: BSD-2-Clause
#include "replaced.h"

#include <stdlib.h>
#include <string.h>

#include "capture.h"
#include "delegate.h"
#include "identity.h"
#include "mappings.h"

static void note(struct ow_replaced *r, uint64_t start, uint64_t end,
		 uint32_t next)
{
	size_t last = r->nr - 1;

	if (r->nr > 0 && r->list[last].next == next &&
	    r->list[last].end == start) {
		r->list[last].end = end;
		return;
	}
	if (r->nr < OW_MOST_REPLACED) {
		r->list[r->nr].start = start;
		r->list[r->nr].end = end;
		r->list[r->nr++].next = next;
		return;
	}
	if (start < r->list[last].start)
		r->list[last].start = start;
	if (end > r->list[last].end)
		r->list[last].end = end;
	r->list[last].next = next;
}

/* Return true if two mappings have the same code wherever they overlap. */
static bool has_same_code(const struct ow_mapping *a,
			  const struct ow_mapping *b)
{
	if (a->dev != b->dev || a->inode != b->inode ||
	    strcmp(a->path, b->path) != 0)
		return false;
	return !ow_identity_is_file(a->dev, a->inode) ||
	       a->off - a->start == b->off - b->start;
}

/* The place of code that begins or ends first from addr on, in either list. */
struct sweep {
	const struct ow_mapping *m; /* that ends above addr, or NULL */
	bool is_in;                 /* addr is in m */
};

static uint64_t next_edge(const struct sweep *s, uint64_t end)
{
	uint64_t edge = end;

	if (s->m)
		edge = s->is_in ? s->m->end : s->m->start;
	return edge < end ? edge : end;
}

/* Return addr or where the mapping begins, if that is above. */
static uint64_t begin_of(const struct sweep *s, uint64_t addr)
{
	if (!s->m)
		return UINT64_MAX;
	return s->m->start > addr ? s->m->start : addr;
}

static void pass(struct sweep *s, const struct ow_mappings *list, uint64_t addr)
{
	if (s->m && s->m->end <= addr)
		s->m = ow_mappings_next_code(list,
					     (size_t)(s->m - list->list) + 1);
}

void ow_replaced_note(struct ow_replaced *r, const struct ow_mappings *before,
		      const struct ow_mappings *now, uint32_t next)
{
	struct sweep a = { .m = ow_mappings_next_code(before, 0) };
	struct sweep b = { .m = ow_mappings_next_code(now, 0) };
	uint64_t at = 0, end;

	while (a.m || b.m) {
		at = begin_of(&a, at) < begin_of(&b, at) ? begin_of(&a, at) :
							   begin_of(&b, at);
		a.is_in = a.m && a.m->start <= at;
		b.is_in = b.m && b.m->start <= at;
		end = next_edge(&a, next_edge(&b, UINT64_MAX));
		if (!a.is_in || !b.is_in || !has_same_code(a.m, b.m))
			note(r, at, end, next);
		at = end;
		pass(&a, before, at);
		pass(&b, now, at);
	}
}

void ow_replaced_note_all(struct ow_replaced *r, uint32_t next)
{
	note(r, 0, UINT64_MAX, next);
}

bool ow_replaced_has(const struct ow_replaced *r, uint64_t addr, uint32_t list)
{
	size_t i;

	for (i = 0; i < r->nr; i++)
		if (addr >= r->list[i].start && addr <= r->list[i].end &&
		    (list < r->list[i].next || r->is_any_time))
			return true;
	return false;
}

/* The places that count for one list of mappings, and what was looked through last. */
struct look {
	struct {
		uint64_t start, end; /* also that address */
	} places[OW_MOST_REPLACED];  /* in order, and apart */

	size_t nr;
	const uint8_t *from, *to; /* no word in [from, to) leads to a place, */
	bool is_found;            /* but the one at to does */
	size_t nr_words;          /* that were looked at, in all */
};

static int order_places(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Have places that overlap as one. */
static void unite_places(struct look *l)
{
	size_t i, last = 0;

	for (i = 1; i < l->nr; i++) {
		if (l->places[i].start > l->places[last].end)
			l->places[++last] = l->places[i];
		else if (l->places[i].end > l->places[last].end)
			l->places[last].end = l->places[i].end;
	}
	if (l->nr > 0)
		l->nr = last + 1;
}

/* Begin to look for what was replaced since that list. */
static void begin_look(struct look *l, const struct ow_replaced *r,
		       uint32_t list)
{
	size_t i;

	l->nr = 0;
	l->from = l->to = NULL;
	l->is_found = false;
	for (i = 0; i < r->nr; i++) {
		if (list >= r->list[i].next && !r->is_any_time)
			continue;
		l->places[l->nr].start = r->list[i].start;
		l->places[l->nr++].end = r->list[i].end;
	}
	qsort(l->places, l->nr, sizeof(l->places[0]), order_places);
	unite_places(l);
}

/* Return true if addr is in a place; there is one. */
static bool leads_there(const struct look *l, uint64_t addr)
{
	size_t low = 0, nr = l->nr, half;

	for (; nr > 1; nr -= half) {
		half = nr / 2;
		if (l->places[low + half].start <= addr)
			low += half;
	}
	return addr >= l->places[low].start && addr <= l->places[low].end;
}

/* Look for the first word in [at, end) that leads to a place. */
static void look_on(struct look *l, const struct ow_replaced_copy *c,
		    const uint8_t *at, const uint8_t *end)
{
	uint64_t value = 0;

	for (; end - at >= (ptrdiff_t)c->word; at += c->word) {
		if (c->word == sizeof(value)) /* without a call */
			memcpy(&value, at, sizeof(value));
		else
			memcpy(&value, at, c->word);
		l->nr_words++;
		if (leads_there(l, value & c->mask)) {
			l->is_found = true;
			break;
		}
	}
	l->to = at;
}

/* The first whole word of a copy. */
static const uint8_t *first_word(const struct ow_replaced_copy *c)
{
	size_t off = -c->region->start & (c->word - 1);

	return c->region->bytes +
	       (off < c->region->size ? off : c->region->size);
}

static void cut(struct look *l, struct ow_replaced_copy *c)
{
	const uint8_t *bytes = c->region->bytes, *first = first_word(c);
	const uint8_t *end = bytes + c->region->size;

	if (!l->from || first < l->from || first > l->to) {
		l->from = l->to = first;
		l->is_found = false;
	}
	if (!l->is_found)
		look_on(l, c, l->to, end);
	c->is_cut = l->is_found && end - l->to >= (ptrdiff_t)c->word;
	if (c->is_cut)
		c->region->size = (size_t)(l->to - bytes);
}

/* Return true if what was found in one copy tells of the other. */
static bool are_alike(const struct ow_replaced_copy *a,
		      const struct ow_replaced_copy *b)
{
	return a->list == b->list && a->word == b->word && a->mask == b->mask;
}

/* Those that are alike together, in the order of their bytes. */
static int order_copies(const void *a, const void *b)
{
	const struct ow_replaced_copy *x = a, *y = b;
	uintptr_t at = (uintptr_t)x->region->bytes;
	uintptr_t other = (uintptr_t)y->region->bytes;

	if (x->list != y->list)
		return x->list < y->list ? -1 : 1;
	if (x->word != y->word)
		return x->word < y->word ? -1 : 1;
	if (x->mask != y->mask)
		return x->mask < y->mask ? -1 : 1;
	return (at > other) - (at < other);
}

static int order_regions(const void *a, const void *b)
{
	const struct ow_replaced_copy *x = a, *y = b;

	return (x->region > y->region) - (x->region < y->region);
}

size_t ow_replaced_cut(const struct ow_replaced *r,
		       struct ow_replaced_copy *copies, size_t nr)
{
	struct look l = { .nr_words = 0 };
	size_t i;

	qsort(copies, nr, sizeof(*copies), order_copies);
	for (i = 0; i < nr && !ow_delegate_must_end(); i++) {
		if (i == 0 || !are_alike(&copies[i], &copies[i - 1]))
			begin_look(&l, r, copies[i].list);
		if (l.nr > 0 && copies[i].region->size > 0)
			cut(&l, &copies[i]);
	}
	qsort(copies, nr, sizeof(*copies), order_regions);
	return l.nr_words;
}
