// SPDX-License-Identifier: BSD-2-Clause
#include "intern.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct ow_intern_string {
	struct ow_intern_string *next;
	uint32_t hash;
	char text[];
};

/* FNV-1a. */
static uint32_t hash_of(const char *text)
{
	uint32_t hash = 2166136261u;

	while (*text)
		hash = (hash ^ (uint8_t)*text++) * 16777619u;
	return hash;
}

static void grow(struct ow_intern *in)
{
	size_t nr = in->nr_buckets ? in->nr_buckets * 2 : 64;
	struct ow_intern_string **buckets = calloc(nr, sizeof(*buckets));

	if (!buckets)
		return;
	for (size_t i = 0; i < in->nr_buckets; i++) {
		struct ow_intern_string *s, *next;

		for (s = in->buckets[i]; s; s = next) {
			next = s->next;
			s->next = buckets[s->hash & (nr - 1)];
			buckets[s->hash & (nr - 1)] = s;
		}
	}
	free(in->buckets);
	in->buckets = buckets;
	in->nr_buckets = nr;
}

const char *ow_intern_add(struct ow_intern *in, const char *text)
{
	struct ow_intern_string *s, **bucket;
	uint32_t hash;

	if (!text)
		return NULL;
	if (in->nr >= in->nr_buckets)
		grow(in);
	if (in->nr_buckets == 0)
		return NULL;
	hash = hash_of(text);
	bucket = &in->buckets[hash & (in->nr_buckets - 1)];
	for (s = *bucket; s; s = s->next)
		if (s->hash == hash && strcmp(s->text, text) == 0)
			return s->text;
	s = malloc(sizeof(*s) + strlen(text) + 1);
	if (!s)
		return NULL;
	s->hash = hash;
	strcpy(s->text, text);
	s->next = *bucket;
	*bucket = s;
	in->nr++;
	return s->text;
}

void ow_intern_deinit(struct ow_intern *in)
{
	for (size_t i = 0; i < in->nr_buckets; i++) {
		struct ow_intern_string *s, *next;

		for (s = in->buckets[i]; s; s = next) {
			next = s->next;
			free(s);
		}
	}
	free(in->buckets);
	*in = (struct ow_intern){ 0 };
}
