// SPDX-License-Identifier: BSD-2-Clause
#include "fdeindex.h"

#include <stdlib.h>

#include <outwind/outwind.h>

#include "bulk.h"
#include "grow.h"
#include "owner.h"
#include "worktime.h"

#define LOOK_EVERY 1024 /* entries, between looks at the time */

struct growing {
	struct ow_fde_ref *refs;
	size_t nr, room;
	bool sorted;
	struct ow_owner own;
};

/* The refs by one byte of their start, in the order of the others before. */
static void sort_by_byte(const struct ow_fde_ref *from, struct ow_fde_ref *to,
			 size_t nr, unsigned int shift)
{
	size_t at[256] = { 0 }, sum = 0, n, i;

	for (i = 0; i < nr; i++)
		at[from[i].start >> shift & 0xff]++;
	for (i = 0; i < 256; i++) {
		n = at[i];
		at[i] = sum;
		sum += n;
	}
	for (i = 0; i < nr; i++)
		to[at[from[i].start >> shift & 0xff]++] = from[i];
}

/*
 * By their start, and those of the same one by their offset, in whose order they
 * come: a byte after another, but those that all starts have alike.  0, or -1
 * when out of memory.
 */
static int sort(struct growing *g)
{
	struct ow_fde_ref *from = g->refs, *swap, *to;
	uint64_t differs = 0;
	unsigned int shift;
	size_t i;

	if (!ow_owner_take(&g->own, g->nr * sizeof(*to)))
		return -1;
	to = malloc(g->nr * sizeof(*to));
	if (!to)
		return -1;
	for (i = 1; i < g->nr; i++)
		differs |= from[i].start ^ from[0].start;
	for (shift = 0; shift < 64; shift += 8) {
		if (!(differs >> shift & 0xff))
			continue;
		sort_by_byte(from, to, g->nr, shift);
		swap = from;
		from = to;
		to = swap;
	}
	g->refs = from;
	free(to);
	ow_owner_give(&g->own, g->nr * sizeof(*to));
	return 0;
}

static int reserve(struct growing *g, size_t more)
{
	size_t before = g->room;

	if (!ow_grow(&g->refs, &g->room, g->nr + more, sizeof(*g->refs)))
		return -1;
	return ow_owner_take(&g->own, (g->room - before) * sizeof(*g->refs)) ?
		       0 :
		       -1;
}

static void add(struct growing *g, struct ow_fde_ref ref)
{
	if (g->nr && g->refs[g->nr - 1].start > ref.start)
		g->sorted = false;
	g->refs[g->nr++] = ref;
}

/* Listing the FDEs of a piece of a section. */
struct listing {
	const struct ow_cfi *cfi;
	bool is_debug;
	uint64_t off; /* of the next entry; */
	uint64_t end; /* none from there on is listed */
	bool is_done; /* no more entries are behind off */
	int failed;   /* 0, -OW_CODE_MEMORY or -OW_CODE_TIMEOUT */
	struct growing g;
};

static void *list(void *arg)
{
	struct listing *l = arg;
	struct ow_cie_memo memo = { .entry = NULL };
	struct ow_cfi_env env = { .memo = &memo };
	struct ow_fde fde;
	uint64_t at, since = 0;
	unsigned int nr = 0;
	int kind;

	while (!l->is_done && !l->failed && l->off < l->end) {
		if (nr++ % LOOK_EVERY == 0 &&
		    !ow_bulk_has_time(&l->g.own, &since))
			l->failed = -OW_CODE_TIMEOUT;
		at = l->off;
		kind = ow_cfi_entry(l->cfi, &env, l->is_debug, &l->off, &fde);
		l->is_done = kind == 0 || l->off <= at;
		/* The linker sets the start of dropped functions to 0. */
		if (kind != 1 || fde.start == 0 || fde.end == fde.start)
			continue;
		if (reserve(&l->g, 1))
			l->failed = -OW_CODE_MEMORY;
		else
			add(&l->g, (struct ow_fde_ref){ fde.start, fde.off });
	}
	ow_bulk_has_time(&l->g.own, &since);
	return NULL;
}

static void append(struct listing *l, const struct listing *behind)
{
	size_t i;

	l->failed = behind->failed;
	if (!l->failed && reserve(&l->g, behind->g.nr))
		l->failed = -OW_CODE_MEMORY;
	for (i = 0; !l->failed && i < behind->g.nr; i++)
		add(&l->g, behind->g.refs[i]);
	l->is_done = true;
}

/*
 * The same by two threads, up to off and from there on; if off proves to be no
 * entry's, l goes on alone.
 */
static void list_halves(struct listing *l, uint64_t off)
{
	struct listing behind = *l;
	struct ow_helper helper;

	behind.off = off;
	behind.g.own = ow_owner_beside(&l->g.own);
	if (ow_helper_start(&helper, list, &behind))
		return;
	l->end = off;
	list(l);
	ow_helper_join(&helper);
	if (l->off == off && !l->is_done && !l->failed)
		append(l, &behind);
	free(behind.g.refs);
	ow_owner_give(&behind.g.own, behind.g.own.bytes);
	l->end = behind.end;
}

int ow_fde_index_build(const struct ow_cfi *cfi, bool is_debug,
		       struct ow_owner *own, struct ow_fde_index *ret)
{
	struct listing l = {
		.cfi = cfi,
		.is_debug = is_debug,
		.end = UINT64_MAX,
		.g = { .sorted = true, .own = *own },
	};

	if (!is_debug && cfi->hdr_table && cfi->hdr_nr >= OW_FDEINDEX_MANY)
		list_halves(&l, ow_cfi_hdr_off(cfi, cfi->hdr_nr / 2));
	list(&l);
	if (!l.failed && !l.g.sorted && sort(&l.g))
		l.failed = -OW_CODE_MEMORY;
	if (l.failed) {
		free(l.g.refs);
		ow_owner_give(&l.g.own, l.g.own.bytes - own->bytes);
		return l.failed;
	}
	*own = l.g.own;
	*ret = (struct ow_fde_index){ l.g.refs, l.g.nr };
	return 0;
}

/* Has .eh_frame as many FDEs as that? */
static bool has(const struct ow_cfi *cfi, uint64_t nr)
{
	uint64_t found = 0, off = 0;
	int kind;

	while ((kind = ow_cfi_skip(cfi, false, &off)) > 0 && found <= nr)
		found += kind == 1;
	return kind == 0 && found == nr;
}

/* Read all of the header's table.  Return false if it isn't in order. */
static bool read_hdr(const struct ow_cfi *cfi, struct ow_fde_ref *refs)
{
	uint64_t before = 0, i;

	for (i = 0; i < cfi->hdr_nr; i++) {
		refs[i].start = ow_cfi_hdr_start(cfi, i);
		refs[i].off = ow_cfi_hdr_off(cfi, i);
		if (refs[i].start <= before ||
		    refs[i].off >= cfi->eh_frame.size)
			return false;
		before = refs[i].start;
	}
	return true;
}

int ow_fde_index_of_hdr(const struct ow_cfi *cfi, struct ow_owner *own,
			struct ow_fde_index *ret)
{
	size_t size = cfi->hdr_nr * sizeof(struct ow_fde_ref);
	struct ow_fde_ref *refs;

	if (!cfi->hdr_table || !has(cfi, cfi->hdr_nr) ||
	    !ow_owner_take(own, size))
		return -1;
	refs = malloc(size);
	if (refs && read_hdr(cfi, refs)) {
		*ret = (struct ow_fde_index){ refs, cfi->hdr_nr };
		return 0;
	}
	free(refs);
	ow_owner_give(own, size);
	return -1;
}
