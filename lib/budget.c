// SPDX-License-Identifier: BSD-2-Clause
#include "budget.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <outwind/outwind.h>

#define DEFAULT_LIMIT ((uint64_t)512 << 20)
#define SHARES        4  /* an owner has one of so many of what is left */
#define MOST_REFUSED  64 /* files that are told of */

static atomic_uint_least64_t limit = DEFAULT_LIMIT;
static atomic_uint_least64_t taken;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char *refused[MOST_REFUSED];
static size_t nr_refused;

/* What an owner of so many bytes may have in all, while that many are taken. */
static uint64_t most_of(uint64_t all, size_t own)
{
	uint64_t others = all - own, most = atomic_load(&limit);

	return most > others ? (most - others) / SHARES : 0;
}

bool ow_budget_take(size_t *own, size_t size)
{
	uint64_t all = atomic_load(&taken);

	do {
		uint64_t most = most_of(all, *own);

		if (*own > most || size > most - *own)
			return false;
	} while (!atomic_compare_exchange_weak(&taken, &all, all + size));
	*own += size;
	return true;
}

void ow_budget_give(size_t *own, size_t size)
{
	atomic_fetch_sub(&taken, size);
	*own -= size;
}

size_t ow_budget_share(size_t own)
{
	uint64_t most = most_of(atomic_load(&taken), own);

	return most > own ? (size_t)(most - own) : 0;
}

/* Also if there is no room for it. */
static bool is_known(const char *line)
{
	for (size_t i = 0; i < nr_refused; i++)
		if (strcmp(refused[i], line) == 0)
			return true;
	return nr_refused == MOST_REFUSED;
}

void ow_budget_refuse(const char *path, const char *what)
{
	char *line;

	if (asprintf(&line,
		     "%s: %s would take more memory than it may "
		     "(--memory-limit): left out",
		     path, what) < 0)
		return;
	pthread_mutex_lock(&lock);
	if (!is_known(line)) {
		refused[nr_refused++] = line;
		line = NULL;
	}
	pthread_mutex_unlock(&lock);
	free(line);
}

void ow_memory_limit(uint64_t bytes)
{
	atomic_store(&limit, bytes);
}

const char *ow_memory_refused(size_t i)
{
	const char *line;

	pthread_mutex_lock(&lock);
	line = i < nr_refused ? refused[i] : NULL;
	pthread_mutex_unlock(&lock);
	return line;
}
