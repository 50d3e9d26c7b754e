// SPDX-License-Identifier: BSD-2-Clause
#include "costs.h"

#include <stdlib.h>

#include "grow.h"

/* xorshift64 (Marsaglia 2003): which ones are kept is no secret. */
static uint64_t next_chance(struct costs *c)
{
	uint64_t x = c->chance ? c->chance : 1;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return c->chance = x;
}

static bool reserve(struct costs *c)
{
	return ow_grow(&c->list, &c->room, c->nr_kept + 1, sizeof(*c->list));
}

/* Vitter's algorithm R. */
bool costs_note(struct costs *c, uint64_t value)
{
	uint64_t place;

	if (c->nr_kept < COSTS_MOST) {
		if (!reserve(c))
			return false;
		c->list[c->nr_kept++] = value;
	} else {
		place = next_chance(c) % (c->nr + 1);
		if (place < c->nr_kept)
			c->list[place] = value;
	}
	if (c->nr == 0 || value < c->least)
		c->least = value;
	if (value > c->most)
		c->most = value;
	c->nr++;
	return true;
}

static int order(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

uint64_t costs_share(struct costs *c, double share)
{
	size_t i = (size_t)(share * (double)c->nr_kept);

	if (c->nr == 0)
		return 0;
	if (share <= 0)
		return c->least;
	if (i >= c->nr_kept)
		return c->most;
	qsort(c->list, c->nr_kept, sizeof(*c->list), order);
	return c->list[i];
}

void costs_free(struct costs *c)
{
	free(c->list);
	*c = (struct costs){ 0 };
}
