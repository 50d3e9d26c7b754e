// SPDX-License-Identifier: BSD-2-Clause
#include "fdeindex.h"

#include <stdlib.h>

struct growing {
	struct ow_fde_ref *refs;
	size_t nr, room;
	bool sorted;
};

static int by_start(const void *a, const void *b)
{
	const struct ow_fde_ref *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return (x->off > y->off) - (x->off < y->off);
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
	if (!g.sorted)
		qsort(g.refs, g.nr, sizeof(*g.refs), by_start);
	*ret = (struct ow_fde_index){ g.refs, g.nr };
	return 0;
}
