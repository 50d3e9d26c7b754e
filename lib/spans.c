// SPDX-License-Identifier: BSD-2-Clause
#include "spans.h"

static struct ow_span *span(const struct ow_spans *s, size_t i)
{
	return (void *)((char *)s->list + i * s->size);
}

void ow_spans_link(const struct ow_spans *s)
{
	uint64_t reach = 0;
	size_t i;

	for (i = 0; i < s->nr; i++) {
		if (span(s, i)->end > reach)
			reach = span(s, i)->end;
		span(s, i)->reach = reach;
	}
}

/* How many of the first nr begin at or before addr. */
static size_t begun(const struct ow_spans *s, uint64_t addr, size_t nr)
{
	size_t low = 0, high = nr, mid;

	while (low < high) {
		mid = low + (high - low) / 2;
		if (span(s, mid)->start <= addr)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

void *ow_spans_before(const struct ow_spans *s, uint64_t addr, size_t *at)
{
	size_t i = *at, low = 0, nr;

	/* Of what is before an element that covers it, all have begun. */
	if (i == s->nr || s->most) {
		nr = begun(s, addr, s->nr);
		i = i == s->nr ? nr : i;
		low = s->most && nr > s->most ? nr - s->most : 0;
	}
	for (; i > low && span(s, i - 1)->reach > addr; i--) {
		if (span(s, i - 1)->end > addr) {
			*at = i - 1;
			return span(s, i - 1);
		}
	}
	return NULL;
}
