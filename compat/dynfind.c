// SPDX-License-Identifier: BSD-2-Clause
#include "dynfind.h"

#include "dynlist.h"

#define MOST 65536 /* entries looked at, so that no loop is endless */

const unw_dyn_info_t *ow_dynfind(uint64_t ip)
{
	const unw_dyn_info_list_t *list =
		(const unw_dyn_info_list_t *)(uintptr_t)_U_dyn_info_list_addr();
	const unw_dyn_info_t *i =
		__atomic_load_n(&list->first, __ATOMIC_ACQUIRE);
	size_t n;

	for (n = 0; i && n < MOST; n++) {
		if (ip - i->start_ip < i->end_ip - i->start_ip)
			return i;
		i = __atomic_load_n(&i->next, __ATOMIC_ACQUIRE);
	}
	return NULL;
}
