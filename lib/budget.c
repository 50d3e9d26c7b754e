// SPDX-License-Identifier: BSD-2-Clause
#include "budget.h"

#include <stdatomic.h>
#include <stdio.h>

#include <outwind/outwind.h>

#include "leftout.h"

#define DEFAULT_LIMIT ((uint64_t)512 << 20)
#define SHARES        4 /* an owner has one of so many of what is left */

static atomic_uint_least64_t limit = DEFAULT_LIMIT;
static atomic_uint_least64_t taken;

/* One of so many parts of what is left by others than an owner, while all are taken. */
static uint64_t part_of(uint64_t all, uint64_t own, unsigned int parts)
{
	uint64_t others = all > own ? all - own : 0;
	uint64_t most = atomic_load(&limit);

	return most > others ? (most - others) / parts : 0;
}

/* What an owner of so many bytes may have in all, while that many are taken. */
static uint64_t most_of(uint64_t all, size_t own)
{
	return part_of(all, own, SHARES);
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

bool ow_budget_take_most(size_t *own, size_t size)
{
	uint64_t all = atomic_load(&taken), most, left;

	do {
		most = atomic_load(&limit);
		left = most > all ? most - all : 0;
		if (size > left - left / SHARES)
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

uint64_t ow_budget_part(uint64_t own, unsigned int parts)
{
	return part_of(atomic_load(&taken), own, parts);
}

size_t ow_budget_share(size_t own)
{
	uint64_t most = most_of(atomic_load(&taken), own);

	return most > own ? (size_t)(most - own) : 0;
}

void ow_budget_refuse(const char *path, const char *what)
{
	char text[96];

	snprintf(text, sizeof(text), "%s " OW_BUDGET_SPENT, what);
	ow_leave_out(path, text);
}

void ow_memory_limit(uint64_t bytes)
{
	atomic_store(&limit, bytes);
}

uint64_t ow_get_memory_limit(void)
{
	return atomic_load(&limit);
}
