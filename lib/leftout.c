// SPDX-License-Identifier: BSD-2-Clause
#include "leftout.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <outwind/outwind.h>

#define MOST_LINES 64

struct lines {
	char *list[MOST_LINES];
	size_t nr;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct lines left_out, lost;

/* Also if there is no room for it. */
static bool is_known(const struct lines *l, const char *line)
{
	for (size_t i = 0; i < l->nr; i++)
		if (strcmp(l->list[i], line) == 0)
			return true;
	return l->nr == MOST_LINES;
}

/* Take the line, which is the list's from now on. */
static void note(struct lines *l, char *line)
{
	pthread_mutex_lock(&lock);
	if (!is_known(l, line)) {
		l->list[l->nr++] = line;
		line = NULL;
	}
	pthread_mutex_unlock(&lock);
	free(line);
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
