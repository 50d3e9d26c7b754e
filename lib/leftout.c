// SPDX-License-Identifier: BSD-2-Clause
#include "leftout.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <outwind/outwind.h>

#include "hash.h"

#define MOST_LINES 64

struct lines {
	char *list[MOST_LINES];
	size_t nr;
	uint64_t hashes[OW_MOST_COUNTED]; /* of all, also those in the list */
	size_t nr_counted;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct lines left_out, lost;

/* Count a line.  Return true if it is a new one. */
static bool count(struct lines *l, const char *line)
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
static void note(struct lines *l, char *line)
{
	pthread_mutex_lock(&lock);
	if (count(l, line) && l->nr < MOST_LINES) {
		l->list[l->nr++] = line;
		line = NULL;
	}
	pthread_mutex_unlock(&lock);
	free(line);
}

static size_t nr_of(const struct lines *l)
{
	size_t nr;

	pthread_mutex_lock(&lock);
	nr = l->nr_counted;
	pthread_mutex_unlock(&lock);
	return nr;
}

static const char *line_of(const struct lines *l, size_t i)
{
	const char *line;

	pthread_mutex_lock(&lock);
	line = i < l->nr ? l->list[i] : NULL;
	pthread_mutex_unlock(&lock);
	return line;
}

void ow_leave_out(const char *path, const char *what)
{
	char *line;

	if (asprintf(&line, "%s: %s: left out", path, what) >= 0)
		note(&left_out, line);
}

void ow_doubt(const char *path, const char *why)
{
	char *line;

	if (asprintf(&line, "%s: %s", path, why) >= 0)
		note(&left_out, line);
}

void ow_lose_file(const char *path, const char *why)
{
	char *line;

	if (asprintf(&line, "%s: %s", path, why) >= 0)
		note(&lost, line);
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
