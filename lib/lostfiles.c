// SPDX-License-Identifier: BSD-2-Clause
#include "lostfiles.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"

#define MOST_LOST 64

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char *lost[MOST_LOST];
static size_t nr_lost;

static void add(const char *name, const char *why)
{
	_cleanup_(ow_freep) char *text = NULL;
	size_t i;

	if (nr_lost == MOST_LOST)
		return;
	if (nr_lost == MOST_LOST - 1)
		name = "other files";
	if (asprintf(&text, "%s: %s", name, why) < 0) {
		text = NULL;
		return;
	}
	for (i = 0; i < nr_lost; i++)
		if (strcmp(lost[i], text) == 0)
			return;
	lost[nr_lost++] = text;
	text = NULL;
}

void ow_lostfile_note(const char *name, const char *why)
{
	pthread_mutex_lock(&lock);
	add(name, why);
	pthread_mutex_unlock(&lock);
}

const char *ow_lostfile_get(size_t i)
{
	const char *text;

	pthread_mutex_lock(&lock);
	text = i < nr_lost ? lost[i] : NULL;
	pthread_mutex_unlock(&lock);
	return text;
}
