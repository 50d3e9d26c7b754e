// SPDX-License-Identifier: BSD-2-Clause
#include "foldcount.h"

#include <stdlib.h>
#include <string.h>

struct foldcount_entry {
	char *text; /* NULL: free */
	size_t size;
	uint64_t hash, count;
};

static uint64_t hash_of(const char *text, size_t size)
{
	uint64_t h = 0xcbf29ce484222325ULL; /* FNV-1a */
	size_t i;

	for (i = 0; i < size; i++)
		h = (h ^ (unsigned char)text[i]) * 0x100000001b3ULL;
	return h;
}

static struct foldcount_entry *
slot_of(const struct foldcount *f, const char *text, size_t size, uint64_t hash)
{
	struct foldcount_entry *e;
	size_t i;

	for (i = hash & (f->room - 1);; i = (i + 1) & (f->room - 1)) {
		e = &f->entries[i];
		if (!e->text || (e->hash == hash && e->size == size &&
				 memcmp(e->text, text, size) == 0))
			return e;
	}
}

static bool grow(struct foldcount *f)
{
	struct foldcount more = { .room = f->room ? 2 * f->room : 256 };
	struct foldcount_entry *e;
	size_t i;

	more.entries = calloc(more.room, sizeof(*more.entries));
	if (!more.entries)
		return false;
	for (i = 0; i < f->room; i++) {
		e = &f->entries[i];
		if (e->text)
			*slot_of(&more, e->text, e->size, e->hash) = *e;
	}
	more.nr = f->nr;
	free(f->entries);
	*f = more;
	return true;
}

bool foldcount_add(struct foldcount *f, const char *text, size_t size)
{
	uint64_t hash = hash_of(text, size);
	struct foldcount_entry *e;
	char *copy;

	if (2 * f->nr >= f->room && !grow(f))
		return false;
	e = slot_of(f, text, size, hash);
	if (e->text) {
		e->count++;
		return true;
	}
	copy = malloc(size + 1);
	if (!copy)
		return false;
	memcpy(copy, text, size);
	copy[size] = '\0';
	*e = (struct foldcount_entry){ copy, size, hash, 1 };
	f->nr++;
	return true;
}

static int order(const void *a, const void *b)
{
	const struct foldcount_entry *x = a, *y = b;

	if (!x->text || !y->text)
		return (y->text != NULL) - (x->text != NULL);
	return strcmp(x->text, y->text);
}

/* It is no hash any more afterwards, and good for nothing but its end. */
void foldcount_print(struct foldcount *f, FILE *out)
{
	size_t i;

	if (f->room)
		qsort(f->entries, f->room, sizeof(*f->entries), order);
	for (i = 0; i < f->nr; i++)
		fprintf(out, "%s %llu\n", f->entries[i].text,
			(unsigned long long)f->entries[i].count);
}

void foldcount_deinit(struct foldcount *f)
{
	size_t i;

	for (i = 0; i < f->room; i++)
		free(f->entries[i].text);
	free(f->entries);
	*f = (struct foldcount){ 0 };
}
