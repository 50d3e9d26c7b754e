// SPDX-License-Identifier: BSD-2-Clause
#include "subuids.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATH        "/etc/subuid"
#define MOST_RANGES 4096
#define LONGEST     256 /* bytes of a line; longer ones are none */

struct range {
	uint64_t first, nr;
	uint32_t owner; /* 0: root */
	char name[32];  /* cut off: such users count as one */
};

struct ranges {
	uint32_t nr, nr_owners;
	uint64_t lowest; /* id of them all; usual users' are below */
	struct range all[MOST_RANGES];
};

/* Without a lock: a delegate that is ended could hold it for ever. */
static _Atomic(struct ranges *) known;

static uint32_t number_of(struct ranges *r, const char *name)
{
	uint32_t i;

	if (strcmp(name, "root") == 0 || strcmp(name, "0") == 0)
		return 0;
	for (i = 0; i < r->nr; i++)
		if (strcmp(r->all[i].name, name) == 0)
			return r->all[i].owner;
	return ++r->nr_owners;
}

/* name:first:number */
static void take_line(struct ranges *r, const char *line)
{
	struct range *new = &r->all[r->nr];
	const char *numbers = strchr(line, ':');

	if (!numbers || sscanf(line, "%31[^:\n]", new->name) != 1 ||
	    sscanf(numbers, ":%lu:%lu", &new->first, &new->nr) != 2)
		return;
	new->owner = number_of(r, new->name);
	if (r->nr == 0 || new->first < r->lowest)
		r->lowest = new->first;
	r->nr++;
}

static void take_all(struct ranges *r, FILE *f)
{
	char line[LONGEST];
	bool is_begin = true, is_whole;

	while (r->nr < MOST_RANGES && fgets(line, sizeof(line), f)) {
		is_whole = strchr(line, '\n');
		if (is_begin && is_whole)
			take_line(r, line);
		is_begin = is_whole;
	}
}

static struct ranges *know(void)
{
	struct ranges *r = calloc(1, sizeof(*r)), *other = NULL;
	FILE *f;

	if (!r)
		return NULL;
	f = fopen(PATH, "re");
	if (f) {
		take_all(r, f);
		fclose(f);
	}
	if (atomic_compare_exchange_strong(&known, &other, r))
		return r;
	free(r);
	return other;
}

uint32_t ow_subuids_owner(uid_t uid)
{
	const struct ranges *r = atomic_load(&known);
	uint32_t i;

	if (!r)
		r = know();
	if (!r || uid < r->lowest)
		return 0;
	for (i = 0; i < r->nr; i++)
		if (uid >= r->all[i].first &&
		    uid - r->all[i].first < r->all[i].nr)
			return r->all[i].owner;
	return 0;
}
