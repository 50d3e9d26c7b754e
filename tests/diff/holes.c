// SPDX-License-Identifier: BSD-2-Clause
#include "holes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void holes_cover(struct holes *h, uint64_t start, uint64_t end)
{
	if (h->nr == h->room) {
		h->room = 2 * h->room + 256;
		h->spans = realloc(h->spans, h->room * sizeof(*h->spans));
		if (!h->spans) {
			perror("realloc");
			exit(1);
		}
	}
	h->spans[h->nr++] = (struct hole_span){ start, end };
}

static int compare_starts(const void *a, const void *b)
{
	const struct hole_span *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

static void visit_hole(uint64_t from, uint64_t to,
		       void (*visit)(void *arg, uint64_t vaddr), void *arg)
{
	uint64_t at;

	for (at = from; at < to; at++) {
		if (at - from == HOLES_LONG && to - at > HOLES_LONG)
			at = to - HOLES_LONG;
		visit(arg, at);
	}
}

void holes_visit(struct holes *h, void (*visit)(void *arg, uint64_t vaddr),
		 void *arg)
{
	uint64_t at;
	size_t i;

	if (h->nr == 0)
		return;
	qsort(h->spans, h->nr, sizeof(*h->spans), compare_starts);
	if (h->spans[0].start)
		visit(arg, h->spans[0].start - 1);
	at = h->spans[0].end;
	for (i = 1; i < h->nr; i++) {
		visit_hole(at, h->spans[i].start, visit, arg);
		if (h->spans[i].end > at)
			at = h->spans[i].end;
	}
	visit(arg, at);
}

void holes_clear(struct holes *h)
{
	free(h->spans);
	memset(h, 0, sizeof(*h));
}
