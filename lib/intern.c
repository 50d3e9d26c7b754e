// SPDX-License-Identifier: BSD-2-Clause
#include "intern.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "hash.h"

struct ow_intern_string {
	struct ow_intern_string *next;
	uint64_t hash;
	char text[];
};

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

static bool is_text(const struct ow_intern_string *s, const char *text,
		    size_t len, const char *end)
{
	return strncmp(s->text, text, len) == 0 &&
	       strcmp(s->text + len, end) == 0;
}

const char *ow_intern_add(struct ow_intern *in, const char *text)
{
	struct ow_intern_string *s, **bucket;
	const char *end = "";
	uint64_t hash;
	size_t len;

	if (!text)
		return NULL;
	if (in->nr >= in->nr_buckets)
		grow(in);
	if (in->nr_buckets == 0)
		return NULL;
	len = strnlen(text, OW_INTERN_LONGEST + 1);
	if (len > OW_INTERN_LONGEST) {
		len = OW_INTERN_LONGEST;
		end = "...";
	}
	hash = ow_hash(text, len);
	bucket = &in->buckets[hash & (in->nr_buckets - 1)];
	for (s = *bucket; s; s = s->next)
		if (s->hash == hash && is_text(s, text, len, end))
			return s->text;
	s = malloc(sizeof(*s) + len + strlen(end) + 1);
	if (!s)
		return NULL;
	s->hash = hash;
	memcpy(s->text, text, len);
	strcpy(s->text + len, end);
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
