// SPDX-License-Identifier: BSD-2-Clause
#include "bpfbatch.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "error.h"

#define BATCH 1024

int ow_bpfbatch_drain(int fd, size_t key_size, size_t value_size,
		      void (*take)(void *arg, const void *keys,
				   const void *values, uint32_t nr),
		      void *arg)
{
	_cleanup_(ow_freep) uint8_t *keys = calloc(BATCH, key_size);
	_cleanup_(ow_freep) uint8_t *values = calloc(BATCH, value_size);
	bool first = true, last = false;
	uint32_t nr, at = 0;

	if (!keys || !values)
		return -1;
	while (!last) {
		nr = BATCH;
		/* With the last ones comes ENOENT. */
		last = bpf_map_lookup_and_delete_batch(
			fd, first ? NULL : &at, &at, keys, values, &nr, NULL);
		if (last && errno != ENOENT)
			return -1;
		first = false;
		take(arg, keys, values, nr);
	}
	return 0;
}
