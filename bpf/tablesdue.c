// SPDX-License-Identifier: BSD-2-Clause
#include "tablesdue.h"

#include <stdlib.h>
#include <string.h>

#include "grow.h"

bool ow_tablesdue_add(struct ow_tablesdue *d, const struct ow_tabledue *one)
{
	if (!ow_grow(&d->all, &d->room, d->nr + 1, sizeof(*d->all)))
		return false;
	d->all[d->nr++] = *one;
	return true;
}

void ow_tablesdue_ask(struct ow_tablesdue *d, uint32_t number)
{
	size_t i;

	for (i = 0; i < d->nr; i++)
		if (d->all[i].number == number)
			d->all[i].is_asked = true;
}

bool ow_tablesdue_take(struct ow_tablesdue *d, bool may_be_large,
		       struct ow_tabledue *ret)
{
	size_t first = d->nr, i;

	for (i = 0; i < d->nr; i++) {
		if (d->all[i].is_large && !may_be_large)
			continue;
		if (first == d->nr)
			first = i;
		if (d->all[i].is_asked) {
			first = i;
			break;
		}
	}
	if (first == d->nr)
		return false;
	*ret = d->all[first];
	memmove(d->all + first, d->all + first + 1,
		(--d->nr - first) * sizeof(*d->all));
	return true;
}
