// SPDX-License-Identifier: BSD-2-Clause
#include "leftout.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <outwind/outwind.h>

#define MOST_LINES 64

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char *lines[MOST_LINES];
static size_t nr_lines;

/* Also if there is no room for it. */
static bool is_known(const char *line)
{
	for (size_t i = 0; i < nr_lines; i++)
		if (strcmp(lines[i], line) == 0)
			return true;
	return nr_lines == MOST_LINES;
}

void ow_leave_out(const char *path, const char *what)
{
	char *line;

	if (asprintf(&line, "%s: %s: left out", path, what) < 0)
		return;
	pthread_mutex_lock(&lock);
	if (!is_known(line)) {
		lines[nr_lines++] = line;
		line = NULL;
	}
	pthread_mutex_unlock(&lock);
	free(line);
}

const char *ow_left_out(size_t i)
{
	const char *line;

	pthread_mutex_lock(&lock);
	line = i < nr_lines ? lines[i] : NULL;
	pthread_mutex_unlock(&lock);
	return line;
}
