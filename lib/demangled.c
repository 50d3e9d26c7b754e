// SPDX-License-Identifier: BSD-2-Clause
#include "demangled.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "demangle.h"
#include "hash.h"

#define MOST_KEPT 64 /* names of a user; a power of two */

/* A name and its text, which is NULL if it has none. */
struct kept {
	uint64_t hash;
	char *name; /* NULL: the slot is free */
	char *text;
	size_t size; /* of both */
};

struct ow_demangled_names {
	struct ow_owner own;
	struct kept slots[MOST_KEPT];
};

/* The names of a user, or NULL when out of memory. */
static struct ow_demangled_names *names_of(struct ow_demangled *d, uid_t uid)
{
	struct ow_demangled_names **names;
	struct ow_owner own;

	if (d->last && d->uid == uid)
		return d->last;
	own = ow_owner_of(uid);
	names = &d->of[own.share];
	if (!*names) {
		*names = calloc(1, sizeof(**names));
		if (!*names)
			return NULL;
		(*names)->own = own;
	}
	d->last = *names;
	d->uid = uid;
	return *names;
}

static void drop(struct ow_demangled_names *names, struct kept *k)
{
	free(k->name);
	free(k->text);
	ow_owner_give(&names->own, k->size);
	*k = (struct kept){ .name = NULL };
}

/* Keep a text, which may be NULL, in the place of another name's; false: it isn't kept. */
static bool keep(struct ow_demangled_names *names, struct kept *k,
		 uint64_t hash, const char *name, char *text)
{
	struct kept new = {
		.hash = hash,
		.text = text,
		.size = strlen(name) + 1 + (text ? strlen(text) + 1 : 0),
	};

	drop(names, k);
	if (!ow_owner_take(&names->own, new.size))
		return false;
	new.name = strdup(name);
	if (new.name)
		*k = new;
	else
		ow_owner_give(&names->own, new.size);
	return new.name;
}

const char *ow_demangled_find(struct ow_demangled *d, const char *name,
			      uid_t uid, bool *is_refused)
{
	struct ow_demangled_names *names;
	struct kept *k;
	uint64_t hash;
	char *text;

	*is_refused = false;
	if (!ow_is_mangled(name))
		return NULL;
	names = names_of(d, uid);
	*is_refused = !names;
	if (!names)
		return NULL;
	hash = ow_hash(name, strlen(name));
	k = &names->slots[hash % MOST_KEPT];
	if (k->name && k->hash == hash && strcmp(k->name, name) == 0)
		return k->text;
	*is_refused = ow_demangle(name, uid, &text) != 0;
	free(d->text);
	d->text = NULL;
	if (!*is_refused && !keep(names, k, hash, name, text))
		d->text = text;
	return text;
}

void ow_demangled_deinit(struct ow_demangled *d)
{
	for (size_t i = 0; i < OW_OWNER_SHARES; i++) {
		struct ow_demangled_names *names = d->of[i];

		for (size_t k = 0; names && k < MOST_KEPT; k++)
			drop(names, &names->slots[k]);
		free(names);
	}
	free(d->text);
	*d = (struct ow_demangled){ .text = NULL };
}
