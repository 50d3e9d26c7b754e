// SPDX-License-Identifier: BSD-2-Clause
#include "fdeindex.h"

#include <stdlib.h>

struct growing {
	struct ow_fde_ref *refs;
	size_t nr, room;
	bool sorted;
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
	return 0;
}

static int add(struct growing *g, const struct ow_fde *fde)
{
	if (g->nr == g->room) {
		size_t room = g->room ? 2 * g->room : 64;
		struct ow_fde_ref *refs =
			realloc(g->refs, room * sizeof(*refs));

		if (!refs)
			return -1;
		g->refs = refs;
		g->room = room;
	}
	if (g->nr && g->refs[g->nr - 1].start > fde->start)
		g->sorted = false;
	g->refs[g->nr++] = (struct ow_fde_ref){ fde->start, fde->off };
	return 0;
}

int ow_fde_index_build(const struct ow_cfi *cfi, bool is_debug,
		       struct ow_fde_index *ret)
{
	struct ow_cie_memo memo = { .entry = NULL };
	struct ow_cfi_env env = { .memo = &memo };
	struct growing g = { .sorted = true };
	struct ow_fde fde;
	uint64_t off = 0, at;
	int kind;

	for (;;) {
		at = off;
		kind = ow_cfi_entry(cfi, &env, is_debug, &off, &fde);
		if (kind == 0 || off <= at)
			break;
		/* The linker sets the start of dropped functions to 0. */
		if (kind != 1 || fde.start == 0 || fde.end == fde.start)
			continue;
		if (add(&g, &fde)) {
			free(g.refs);
			return -1;
		}
	}
	if (!g.sorted && sort(&g)) {
		free(g.refs);
		return -1;
	}
	*ret = (struct ow_fde_index){ g.refs, g.nr };
	return 0;
}
