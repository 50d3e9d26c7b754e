// SPDX-License-Identifier: BSD-2-Clause
#include "replaced.h"

#include <string.h>

#include "capture.h"
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

bool ow_replaced_cut(const struct ow_replaced *r, uint32_t list,
		     struct ow_region *stack, unsigned int word, uint64_t mask)
{
	uint64_t off = -stack->start & (word - 1), value;

	for (; off + word <= stack->size; off += word) {
		value = 0;
		memcpy(&value, stack->bytes + off, word);
		if (ow_replaced_has(r, value & mask, list)) {
			stack->size = off;
			return true;
		}
	}
	return false;
}
