/* SPDX-License-Identifier: BSD-2-Clause */
/* All that a hash map of BPF's has, taken out of it or not. */
#ifndef OW_BPFBATCH_H
#define OW_BPFBATCH_H

#include <stddef.h>
#include <stdint.h>

/*
 * Take all keys and values, of these sizes, out of the map; take() has some of
 * them at a time, in arrays.  Return 0, or -1 and errno.
 */
int ow_bpfbatch_drain(int fd, size_t key_size, size_t value_size,
		      void (*take)(void *arg, const void *keys,
				   const void *values, uint32_t nr),
		      void *arg);

/*
 * Visit all keys and values and leave them in the map: one that is put there
 * meanwhile may be missing.
 */
int ow_bpfbatch_visit(int fd, size_t key_size, size_t value_size,
		      void (*take)(void *arg, const void *keys,
				   const void *values, uint32_t nr),
		      void *arg);

#endif /* OW_BPFBATCH_H */
