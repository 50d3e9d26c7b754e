// SPDX-License-Identifier: BSD-2-Clause
#include "tracelist.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "grow.h"

static const struct trace_key *key_at(const struct trace_list *l, size_t size,
				      size_t i)
{
	return (const void *)((const char *)l->all + i * size);
}

static bool is_at(const struct trace_list *l, size_t size, size_t i,
		  struct trace_key key)
{
	return i < l->nr && key_at(l, size, i)->id == key.id &&
	       key_at(l, size, i)->host == key.host;
}

/* Where the record is, or is to be. */
static size_t place_of(const struct trace_list *l, size_t size,
		       struct trace_key key)
{
	size_t low = 0, high = l->nr, mid;
	const struct trace_key *k;

	while (low < high) {
		mid = low + (high - low) / 2;
		k = key_at(l, size, mid);
		if (k->id < key.id || (k->id == key.id && k->host < key.host))
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

void *trace_list_get(const struct trace_list *l, size_t size,
		     struct trace_key key)
{
	size_t i = place_of(l, size, key);

	return is_at(l, size, i, key) ? (char *)l->all + i * size : NULL;
}

void *trace_list_add(struct trace_list *l, size_t size, struct trace_key key)
{
	size_t i = place_of(l, size, key);
	char *to;

	if (is_at(l, size, i, key))
		return (char *)l->all + i * size;
	if (!ow_grow(&l->all, &l->room, l->nr + 1, size))
		return NULL;
	to = (char *)l->all + i * size;
	memmove(to + size, to, (l->nr++ - i) * size);
	memset(to, 0, size);
	memcpy(to, &key, sizeof(key));
	return to;
}
