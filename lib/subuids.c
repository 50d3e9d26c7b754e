// SPDX-License-Identifier: BSD-2-Clause
#include "subuids.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define SUBUIDS    "/etc/subuid"
#define USERS      "/etc/passwd"
#define MOST_USERS (1U << 20)  /* lines */
#define LONGEST    256         /* bytes of a line; longer ones give no ids */
#define NONE       ((uid_t)-1) /* nobody's number */
#define RENEW_NS   10000000000
#define MOST_LISTS 1000 /* that stay */

/* A line, whose owner is NONE until it is known. */
struct given {
	struct ow_subuid_range ids;
	char name[LONGEST];
};

struct givens {
	uint32_t nr;
	struct given all[OW_SUBUIDS_MOST];
};

struct list {
	struct list *before; /* other threads may still look at it */
	uint32_t nr_before;
	struct stat subuids, users; /* as they were */
	struct ow_subuids is;
};

/* Without a lock: a delegate that is ended could hold it for ever. */
static _Atomic(struct list *) known;
static atomic_uint_least64_t renewed; /* when the files were looked at */

static uid_t number_of(const char *name)
{
	char *end;
	unsigned long uid = strtoul(name, &end, 10);

	if (strcmp(name, "root") == 0)
		return 0;
	return *name && !*end && uid < NONE ? (uid_t)uid : NONE;
}

/* name:first:number */
static void take_line(struct givens *g, const char *line)
{
	struct given *new = &g->all[g->nr];
	const char *numbers = strchr(line, ':');
	uint64_t first, nr;

	if (!numbers || sscanf(line, "%255[^:\n]", new->name) != 1 ||
	    sscanf(numbers, ":%lu:%lu", &first, &nr) != 2 || first >= NONE ||
	    !nr)
		return;
	new->ids.first = first ? (uid_t)first : 1;
	new->ids.last = nr > NONE - first ? NONE - 1 : (uid_t)(first + nr - 1);
	new->ids.owner = number_of(new->name);
	g->nr += new->ids.owner != 0;
}

/* The next line, cut off if it is longer; false: that was the last one. */
static bool next_line(FILE *f, char line[LONGEST], bool *is_whole)
{
	int c;

	if (!fgets(line, LONGEST, f))
		return false;
	*is_whole = strchr(line, '\n') || feof(f);
	for (c = 0; !*is_whole && c != '\n' && c != EOF;)
		c = getc_unlocked(f);
	return true;
}

static void take_lines(struct givens *g, FILE *f)
{
	char line[LONGEST];
	bool is_whole;

	while (g->nr < OW_SUBUIDS_MOST && next_line(f, line, &is_whole))
		if (is_whole)
			take_line(g, line);
}

static int compare_names(const void *a, const void *b)
{
	const struct given *x = a, *y = b;
	int order = strcmp(x->name, y->name);

	return order ? order :
		       (x->ids.first > y->ids.first) -
			       (x->ids.first < y->ids.first);
}

static int compare_ids(const void *a, const void *b)
{
	const struct given *x = a, *y = b;

	if (x->ids.first != y->ids.first)
		return x->ids.first < y->ids.first ? -1 : 1;
	return (x->ids.owner > y->ids.owner) - (x->ids.owner < y->ids.owner);
}

/* The first one of that name, or where it would be. */
static uint32_t find_name(const struct givens *g, const char *name)
{
	uint32_t from = 0, to = g->nr, mid;

	while (from < to) {
		mid = from + (to - from) / 2;
		if (strcmp(g->all[mid].name, name) < 0)
			from = mid + 1;
		else
			to = mid;
	}
	return from;
}

/* name:password:number:... */
static void take_user(struct givens *g, const char *line)
{
	const char *number = strchr(line, ':');
	char name[LONGEST];
	unsigned int uid;
	uint32_t i;

	number = number ? strchr(number + 1, ':') : NULL;
	if (!number || sscanf(number, ":%u:", &uid) != 1 ||
	    sscanf(line, "%255[^:\n]", name) != 1)
		return;
	for (i = find_name(g, name); i < g->nr; i++) {
		if (strcmp(g->all[i].name, name) != 0)
			return;
		if (g->all[i].ids.owner == NONE)
			g->all[i].ids.owner = uid;
	}
}

static void take_users(struct givens *g, FILE *f)
{
	char line[LONGEST];
	bool is_whole;
	uint32_t nr;

	for (nr = 0; nr < MOST_USERS && next_line(f, line, &is_whole); nr++)
		take_user(g, line);
}

/* Sorted by names: users who aren't known go by the first one of their ids. */
static void number_rest(struct givens *g)
{
	uint32_t i, first = 0;

	for (i = 0; i < g->nr; i++) {
		if (strcmp(g->all[i].name, g->all[first].name) != 0)
			first = i;
		if (g->all[i].ids.owner == NONE)
			g->all[i].ids.owner = g->all[first].ids.first;
	}
}

static void find_owners(struct givens *g)
{
	FILE *f = fopen(USERS, "re");

	qsort(g->all, g->nr, sizeof(*g->all), compare_names);
	if (f) {
		take_users(g, f);
		fclose(f);
	}
	number_rest(g);
}

/* Sorted by ids: what two users have is the one's whose range begins first. */
static void put_ranges(struct ow_subuids *to, const struct givens *g)
{
	struct ow_subuid_range ids;
	uint32_t i;

	for (i = 0; i < g->nr; i++) {
		ids = g->all[i].ids;
		if (to->nr && ids.first <= to->all[to->nr - 1].last)
			ids.first = to->all[to->nr - 1].last + 1;
		if (ids.owner && ids.first <= ids.last)
			to->all[to->nr++] = ids;
	}
}

static struct list *create(const struct givens *g)
{
	struct list *l =
		calloc(1, sizeof(*l) + g->nr * sizeof(struct ow_subuid_range));

	if (l)
		put_ranges(&l->is, g);
	return l;
}

static struct stat stat_of(const char *path)
{
	struct stat st;

	return stat(path, &st) ? (struct stat){ 0 } : st;
}

static bool is_same(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino &&
	       a->st_size == b->st_size &&
	       a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
	       a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

/* The files are looked at first: what changes after that is read the next time. */
static struct list *read_files(void)
{
	struct stat subuids = stat_of(SUBUIDS), users = stat_of(USERS);
	struct givens *g = calloc(1, sizeof(*g));
	FILE *f = g ? fopen(SUBUIDS, "re") : NULL;
	struct list *l = NULL;

	if (f) {
		take_lines(g, f);
		fclose(f);
	}
	if (g) {
		if (g->nr)
			find_owners(g);
		qsort(g->all, g->nr, sizeof(*g->all), compare_ids);
		l = create(g);
	}
	free(g);
	if (!l)
		return NULL;
	l->subuids = subuids;
	l->users = users;
	return l;
}

/* In the place of that one; return what is known then. */
static struct list *publish(struct list *before)
{
	struct list *l = read_files();

	if (!l)
		return before;
	l->before = before;
	l->nr_before = before ? before->nr_before + 1 : 0;
	if (atomic_compare_exchange_strong(&known, &before, l))
		return l;
	free(l);
	return before;
}

const struct ow_subuids *ow_subuids_list(void)
{
	static const struct ow_subuids none;
	struct list *l = atomic_load(&known);

	if (!l)
		l = publish(NULL);
	return l ? &l->is : &none;
}

uid_t ow_subuids_owner(uid_t uid)
{
	const struct ow_subuids *s = ow_subuids_list();
	uint32_t from = 0, to = s->nr, mid;

	if (!s->nr || uid < s->all[0].first)
		return uid; /* usual users are below all ranges */
	while (to - from > 1) {
		mid = from + (to - from) / 2;
		if (s->all[mid].first <= uid)
			from = mid;
		else
			to = mid;
	}
	return uid <= s->all[from].last ? s->all[from].owner : uid;
}

static bool is_current(const struct list *l)
{
	struct stat subuids = stat_of(SUBUIDS), users = stat_of(USERS);

	return is_same(&l->subuids, &subuids) && is_same(&l->users, &users);
}

void ow_subuids_renew(uint64_t now)
{
	uint64_t before = atomic_load(&renewed);
	struct list *l = atomic_load(&known);

	if (!l || now - before < RENEW_NS ||
	    !atomic_compare_exchange_strong(&renewed, &before, now))
		return;
	if (l->nr_before < MOST_LISTS && !is_current(l))
		publish(l);
}
