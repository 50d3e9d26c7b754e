/* SPDX-License-Identifier: BSD-2-Clause */
/* Address spaces: how what is unwound is read, and what is remembered of it. */
#ifndef OW_UNWSPACE_H
#define OW_UNWSPACE_H

#include <libunwind.h>

#include "rowcache.h"

struct unw_addr_space {
	unw_accessors_t acc;
	bool is_local;
	unw_caching_policy_t policy;
	uint32_t generation;      /* counts flushes; not 0 */
	struct ow_rowcache cache; /* entries NULL: none */
};

/* The one of this process; accessors work on it as on any other. */
extern struct unw_addr_space ow_local_space;

/* As unw_create_addr_space() and the functions of that kind. */
unw_addr_space_t ow_space_create(const unw_accessors_t *acc, int byteorder);
void ow_space_destroy(unw_addr_space_t as);
int ow_space_set_policy(unw_addr_space_t as, unw_caching_policy_t policy);
int ow_space_set_cache_size(unw_addr_space_t as, size_t size, int flag);
void ow_space_flush(unw_addr_space_t as);

#endif /* OW_UNWSPACE_H */
