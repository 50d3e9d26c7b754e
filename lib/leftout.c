// SPDX-License-Identifier: BSD-2-Clause
#include "leftout.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <outwind/outwind.h>

#include "hash.h"

#define MOST_LINES 64

/* Whose a line's file is. */
enum {
	OURS,
	OTHERS,
	NR_OWNERS
};

struct list {
	char *lines[MOST_LINES];
	size_t nr;
	uint64_t hashes[OW_MOST_COUNTED]; /* of all, also those in the list */
	size_t nr_counted;
};

struct lines {
	struct list of[NR_OWNERS];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct lines left_out, lost;

/* Count a line.  Return true if it is a new one. */
static bool count(struct list *l, const char *line)
{
	uint64_t hash = ow_hash(line, strlen(line));
	size_t i;

	for (i = 0; i < l->nr_counted; i++)
		if (l->hashes[i] == hash)
			return false;
	if (i == OW_MOST_COUNTED)
		return false;
	l->hashes[l->nr_counted++] = hash;
	return true;
}

/* Take the line, which is the list's from now on. */
static void note(struct lines *l, int owner, char *line)
{
	struct list *list = &l->of[owner];

	pthread_mutex_lock(&lock);
	if (count(list, line) && list->nr < MOST_LINES) {
		list->lines[list->nr++] = line;
		line = NULL;
	}
	pthread_mutex_unlock(&lock);
	free(line);
}

static size_t nr_of(const struct lines *l)
{
	size_t nr;

	pthread_mutex_lock(&lock);
	nr = l->of[OURS].nr_counted + l->of[OTHERS].nr_counted;
	pthread_mutex_unlock(&lock);
	return nr < OW_MOST_COUNTED ? nr : OW_MOST_COUNTED;
}

static const char *line_of(const struct lines *l, size_t i)
{
	const struct list *ours = &l->of[OURS], *others = &l->of[OTHERS];
	const char *line = NULL;

	pthread_mutex_lock(&lock);
	if (i < ours->nr)
		line = ours->lines[i];
	else if (i - ours->nr < others->nr)
		line = others->lines[i - ours->nr];
	pthread_mutex_unlock(&lock);
	return line;
}

static void leave_out(int owner, const char *path, const char *what)
{
	char *line;

	if (asprintf(&line, "%s: %s: left out", path, what) >= 0)
		note(&left_out, owner, line);
}

void ow_leave_out(const char *path, const char *what)
{
	leave_out(OTHERS, path, what);
}

void ow_leave_out_ours(const char *path, const char *what)
{
	leave_out(OURS, path, what);
}

void ow_doubt(const char *path, const char *why)
{
	char *line;

	if (asprintf(&line, "%s: %s", path, why) >= 0)
		note(&left_out, OTHERS, line);
}

void ow_lose_file(const char *path, const char *why)
{
	char *line;

	if (asprintf(&line, "%s: %s", path, why) >= 0)
		note(&lost, OTHERS, line);
}

const char *ow_name_processes(uid_t uid, char buf[OW_PROCESSES_NAME])
{
	if (uid == (uid_t)-1)
		snprintf(buf, OW_PROCESSES_NAME, "processes of unknown users");
	else
		snprintf(buf, OW_PROCESSES_NAME, "processes of user %u", uid);
	return buf;
}

void ow_lose_processes(uid_t uid, const char *why)
{
	char whose[OW_PROCESSES_NAME];

	ow_lose_file(ow_name_processes(uid, whose), why);
}

const char *ow_left_out(size_t i)
{
	return line_of(&left_out, i);
}

const char *ow_lost_line(size_t i)
{
	return line_of(&lost, i);
}

size_t ow_nr_left_out(void)
{
	return nr_of(&left_out);
}

size_t ow_nr_lost_lines(void)
{
	return nr_of(&lost);
}
