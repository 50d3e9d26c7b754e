// SPDX-License-Identifier: BSD-2-Clause
#include "knownplaces.h"

#include <stdlib.h>
#include <string.h>

#include "grow.h"
#include "hash.h"

#define FEWEST 1024              /* entries that there is room for, */
#define MOST   ((size_t)1 << 18) /* of 32 bytes, or numbers of frames */

struct knownplaces_entry {
	struct knownplace place;
	uint32_t first, nr; /* nr 0: the entry is free */
};

/* The entry of a place, or a free one for it. */
static struct knownplaces_entry *entry_of(const struct knownplaces *k,
					  const struct knownplace *place)
{
	size_t i = ow_hash(place, sizeof(*place)) & (k->room - 1);

	while (k->entries[i].nr &&
	       memcmp(&k->entries[i].place, place, sizeof(*place)) != 0)
		i = (i + 1) & (k->room - 1);
	return &k->entries[i];
}

const uint32_t *knownplaces_find(const struct knownplaces *k,
				 const struct knownplace *place, size_t *nr_ret)
{
	const struct knownplaces_entry *e;

	if (!k->room)
		return NULL;
	e = entry_of(k, place);
	*nr_ret = e->nr;
	return e->nr ? k->ids + e->first : NULL;
}

/* Have twice the room. */
static bool grow(struct knownplaces *k)
{
	struct knownplaces more = *k;
	size_t i;

	more.room = k->room ? 2 * k->room : FEWEST;
	more.entries = calloc(more.room, sizeof(*more.entries));
	if (!more.entries)
		return false;
	for (i = 0; i < k->room; i++)
		if (k->entries[i].nr)
			*entry_of(&more, &k->entries[i].place) = k->entries[i];
	free(k->entries);
	*k = more;
	return true;
}

static void forget_all(struct knownplaces *k)
{
	memset(k->entries, 0, k->room * sizeof(*k->entries));
	k->nr = k->nr_ids = 0;
}

void knownplaces_put(struct knownplaces *k, const struct knownplace *place,
		     const uint32_t *ids, size_t nr)
{
	if (k->nr_ids >= MOST || (k->room == MOST && 2 * k->nr >= MOST))
		forget_all(k);
	if (!nr || (2 * k->nr >= k->room && !grow(k)) ||
	    !ow_grow(&k->ids, &k->room_ids, k->nr_ids + nr, sizeof(*k->ids)))
		return;
	*entry_of(k, place) = (struct knownplaces_entry){
		.place = *place,
		.first = (uint32_t)k->nr_ids,
		.nr = (uint32_t)nr,
	};
	memcpy(k->ids + k->nr_ids, ids, nr * sizeof(*ids));
	k->nr_ids += nr;
	k->nr++;
}

void knownplaces_deinit(struct knownplaces *k)
{
	free(k->entries);
	free(k->ids);
	*k = (struct knownplaces){ 0 };
}
