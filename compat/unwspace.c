// SPDX-License-Identifier: BSD-2-Clause
#include "unwspace.h"

#include <endian.h>
#include <stdlib.h>

#include "localspace.h"

#define LOCAL_ENTRIES  4096
#define REMOTE_ENTRIES 2048

static struct ow_saved_row local_entries[LOCAL_ENTRIES];

struct unw_addr_space ow_local_space = {
	.acc = {
		.find_proc_info = ow_local_find_proc_info,
		.put_unwind_info = ow_local_put_unwind_info,
		.get_dyn_info_list_addr = ow_local_dyn_info_list_addr,
		.access_mem = ow_local_access_mem,
		.access_reg = ow_local_access_reg,
		.access_fpreg = ow_local_access_fpreg,
		.get_proc_name = ow_local_proc_name,
		.get_elf_filename = ow_local_elf_filename,
	},
	.is_local = true,
	.policy = UNW_CACHE_GLOBAL,
	.generation = 1,
	.cache = { local_entries, LOCAL_ENTRIES - 1 },
};

unw_addr_space_t ow_space_create(const unw_accessors_t *acc, int byteorder)
{
	unw_addr_space_t as;

	if (byteorder != 0 && byteorder != __LITTLE_ENDIAN)
		return NULL;
	as = calloc(1, sizeof(*as));
	if (!as)
		return NULL;
	as->acc = *acc;
	as->generation = 1;
	return as;
}

void ow_space_destroy(unw_addr_space_t as)
{
	if (!as || as->is_local)
		return;
	free(as->cache.entries);
	free(as);
}

/* The local one's cache is always there, and gives only what is so. */
int ow_space_set_policy(unw_addr_space_t as, unw_caching_policy_t policy)
{
	struct ow_saved_row *entries;

	if ((unsigned int)policy > UNW_CACHE_PER_THREAD)
		return -UNW_EINVAL;
	as->policy = policy;
	ow_space_flush(as);
	if (as->is_local)
		return 0;
	if (policy == UNW_CACHE_NONE) {
		free(as->cache.entries);
		as->cache.entries = NULL;
		return 0;
	}
	if (as->cache.entries)
		return 0;
	entries = calloc(REMOTE_ENTRIES, sizeof(*entries));
	if (!entries)
		return -UNW_ENOMEM;
	as->cache = (struct ow_rowcache){ entries, REMOTE_ENTRIES - 1 };
	return 0;
}

int ow_space_set_cache_size(unw_addr_space_t as, size_t size, int flag)
{
	struct ow_saved_row *entries;
	size_t nr = REMOTE_ENTRIES;

	if (flag != 0)
		return -UNW_EINVAL;
	if (as->is_local || !as->cache.entries)
		return 0;
	while (nr < size && nr < (size_t)1 << 20)
		nr *= 2;
	entries = calloc(nr, sizeof(*entries));
	if (!entries)
		return -UNW_ENOMEM;
	free(as->cache.entries);
	as->cache = (struct ow_rowcache){ entries, (uint32_t)nr - 1 };
	return 0;
}

void ow_space_flush(unw_addr_space_t as)
{
	uint32_t generation = as->generation + 1;

	/* What the local one has is checked whenever it is used. */
	if (as->is_local)
		return;
	as->generation = generation ? generation : 1;
}
