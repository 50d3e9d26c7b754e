// SPDX-License-Identifier: BSD-2-Clause
#include "rangeroom.h"

#include <stdlib.h>

#define NONE OW_RANGEROOM_NONE

static void add_free(struct ow_rangeroom *r, uint32_t unit, unsigned int order)
{
	struct ow_rangeunit *u = &r->units[unit];

	*u = (struct ow_rangeunit){ .next = r->free[order],
				    .prev = NONE,
				    .order = (uint8_t)order,
				    .is_free = true };
	if (u->next != NONE)
		r->units[u->next].prev = unit;
	r->free[order] = unit;
}

static void take_free(struct ow_rangeroom *r, uint32_t unit)
{
	struct ow_rangeunit *u = &r->units[unit];

	if (u->prev != NONE)
		r->units[u->prev].next = u->next;
	else
		r->free[u->order] = u->next;
	if (u->next != NONE)
		r->units[u->next].prev = u->prev;
	u->is_free = false;
}

bool ow_rangeroom_init(struct ow_rangeroom *r, uint32_t nr)
{
	unsigned int i;

	*r = (struct ow_rangeroom){ .nr = nr / OW_RANGEROOM_UNIT };
	for (i = 0; i < OW_RANGEROOM_ORDERS; i++)
		r->free[i] = NONE;
	r->units = calloc(r->nr + 1, sizeof(*r->units));
	if (!r->units)
		return false;
	if (r->nr)
		add_free(r, 0, ow_rangeroom_order(nr));
	return true;
}

void ow_rangeroom_deinit(struct ow_rangeroom *r)
{
	free(r->units);
	*r = (struct ow_rangeroom){ 0 };
}

unsigned int ow_rangeroom_order(uint32_t nr)
{
	unsigned int order = 0;

	while (((uint64_t)OW_RANGEROOM_UNIT << order) < nr)
		order++;
	return order;
}

uint32_t ow_rangeroom_take(struct ow_rangeroom *r, uint32_t nr)
{
	unsigned int order = ow_rangeroom_order(nr), from = order;
	uint32_t unit;

	while (from < OW_RANGEROOM_ORDERS && r->nr && r->free[from] == NONE)
		from++;
	if (from >= OW_RANGEROOM_ORDERS || !r->nr)
		return NONE;
	unit = r->free[from];
	take_free(r, unit);
	while (from-- > order)
		add_free(r, unit + (1U << from), from);
	r->units[unit].order = (uint8_t)order;
	r->given += OW_RANGEROOM_UNIT << order;
	return unit * OW_RANGEROOM_UNIT;
}

void ow_rangeroom_give(struct ow_rangeroom *r, uint32_t first, uint32_t nr)
{
	uint32_t unit = first / OW_RANGEROOM_UNIT, buddy;
	unsigned int order = ow_rangeroom_order(nr);

	r->given -= OW_RANGEROOM_UNIT << order;
	for (; 1U << order < r->nr; order++) {
		buddy = unit ^ 1U << order;
		if (!r->units[buddy].is_free || r->units[buddy].order != order)
			break;
		take_free(r, buddy);
		unit &= ~(1U << order);
	}
	add_free(r, unit, order);
}
