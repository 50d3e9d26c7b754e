// SPDX-License-Identifier: BSD-2-Clause
#include "dynlist.h"

#include <pthread.h>

#define EXPORT __attribute__((visibility("default")))

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static unw_dyn_info_list_t list = { .version = 1 };

EXPORT unw_word_t _U_dyn_info_list_addr(void)
{
	return (uintptr_t)&list;
}

EXPORT void _U_dyn_register(unw_dyn_info_t *info)
{
	pthread_mutex_lock(&lock);
	info->next = list.first;
	info->prev = NULL;
	if (info->next)
		info->next->prev = info;
	__atomic_store_n(&list.first, info, __ATOMIC_RELEASE);
	list.generation++;
	pthread_mutex_unlock(&lock);
}

/* Whoever is reading info just now may still go on to its next. */
EXPORT void _U_dyn_cancel(unw_dyn_info_t *info)
{
	pthread_mutex_lock(&lock);
	if (info->prev)
		__atomic_store_n(&info->prev->next, info->next,
				 __ATOMIC_RELEASE);
	else
		__atomic_store_n(&list.first, info->next, __ATOMIC_RELEASE);
	if (info->next)
		info->next->prev = info->prev;
	list.generation++;
	pthread_mutex_unlock(&lock);
}
