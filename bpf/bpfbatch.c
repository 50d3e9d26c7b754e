// SPDX-License-Identifier: BSD-2-Clause
#include "bpfbatch.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "error.h"

#define BATCH 1024

/* How a map is read, and the sizes of what it has. */
struct reading {
	int fd;
	int (*read)(int fd, void *from, void *to, void *keys, void *values,
		    uint32_t *nr, const struct bpf_map_batch_opts *opts);
	size_t key_size, value_size;
};

static int read_all(const struct reading *r,
		    void (*take)(void *arg, const void *keys,
				 const void *values, uint32_t nr),
		    void *arg)
{
	_cleanup_(ow_freep) uint8_t *keys = calloc(BATCH, r->key_size);
	_cleanup_(ow_freep) uint8_t *values = calloc(BATCH, r->value_size);
	bool first = true, last = false;
	uint32_t nr, at = 0;

	if (!keys || !values)
		return -1;
	while (!last) {
		nr = BATCH;
		/* With the last ones comes ENOENT. */
		last = r->read(r->fd, first ? NULL : &at, &at, keys, values,
			       &nr, NULL);
		if (last && errno != ENOENT)
			return -1;
		first = false;
		take(arg, keys, values, nr);
	}
	return 0;
}

int ow_bpfbatch_drain(int fd, size_t key_size, size_t value_size,
		      void (*take)(void *arg, const void *keys,
				   const void *values, uint32_t nr),
		      void *arg)
{
	const struct reading r = { fd, bpf_map_lookup_and_delete_batch,
				   key_size, value_size };

	return read_all(&r, take, arg);
}

int ow_bpfbatch_visit(int fd, size_t key_size, size_t value_size,
		      void (*take)(void *arg, const void *keys,
				   const void *values, uint32_t nr),
		      void *arg)
{
	const struct reading r = { fd, bpf_map_lookup_batch, key_size,
				   value_size };

	return read_all(&r, take, arg);
}
