// SPDX-License-Identifier: BSD-2-Clause
#include "intern.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "budget.h"
#include "hash.h"

#define SHARES        4 /* a user has one of so many, */
#define GROUP_SHARES  2 /* and a group of users */
#define FIRST_BUCKETS 64

struct ow_intern_string {
	struct ow_intern_string *next;
	uint64_t hash;
	char text[];
};

static bool take(struct ow_intern *in, size_t size)
{
	if (!in->limit)
		return ow_budget_take(&in->own, size);
	if (in->own > in->limit || size > in->limit - in->own)
		return false;
	in->own += size;
	return true;
}

static void give(struct ow_intern *in, size_t size)
{
	if (in->limit)
		in->own -= size;
	else
		ow_budget_give(&in->own, size);
}

/* Beside the first buckets, which take little, all are of the budget. */
static void grow(struct ow_intern *in)
{
	size_t nr = in->nr_buckets ? in->nr_buckets * 2 : FIRST_BUCKETS;
	size_t more = in->nr_buckets * sizeof(*in->buckets);
	struct ow_intern_string **buckets;

	if (!take(in, more))
		return;
	buckets = calloc(nr, sizeof(*buckets));
	if (!buckets) {
		give(in, more);
		return;
	}
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

/* The bytes that who has used some may take, of so many shares. */
static size_t left_of(const struct ow_intern *in, size_t used, size_t shares)
{
	size_t most = (ow_budget_share(in->own) + used) / shares;

	return used < most ? most - used : 0;
}

/* Memory of the budget for a user, or for nobody, maybe of a group; or NULL. */
static void *get(struct ow_intern *in, size_t size, size_t *used,
		 struct ow_intern_group *group)
{
	void *memory;

	if (group)
		group->is_short = size > left_of(in, group->used, GROUP_SHARES);
	if ((group && group->is_short) ||
	    (used && size > left_of(in, *used, SHARES)) || !take(in, size))
		return NULL;
	memory = malloc(size);
	if (!memory) {
		give(in, size);
		return NULL;
	}
	if (used)
		*used += size;
	if (group)
		group->used += size;
	return memory;
}

const char *ow_intern_add_in(struct ow_intern *in, const char *text,
			     size_t *used, struct ow_intern_group *group)
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
	s = get(in, sizeof(*s) + len + strlen(end) + 1, used, group);
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

const char *ow_intern_add_for(struct ow_intern *in, const char *text,
			      size_t *used)
{
	return ow_intern_add_in(in, text, used, NULL);
}

const char *ow_intern_add(struct ow_intern *in, const char *text)
{
	return ow_intern_add_in(in, text, NULL, NULL);
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
	give(in, in->own);
	*in = (struct ow_intern){ 0 };
}
