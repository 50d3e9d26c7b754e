/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What the BPF walker asks of its helpers, in user space: maps are told apart by
 * their addresses, and a program's memory is whatever the twin is given.
 */
#ifndef OW_BPFTWIN_H
#define OW_BPFTWIN_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include <linux/types.h>

#define SEC(name)
#undef __always_inline
#define __always_inline inline __attribute__((always_inline))
#define __noinline      static __attribute__((noinline, unused))

#define __uint(name, value)  int(*name)[value]
#define __type(name, value)  __typeof__(value) *name
#define __array(name, value) __typeof__(value) *name[]

enum {
	BPF_MAP_TYPE_HASH,
	BPF_MAP_TYPE_ARRAY,
	BPF_MAP_TYPE_ARRAY_OF_MAPS,
	BPF_F_INNER_MAP = 1,
	BPF_F_MMAPABLE = 2,
};

/* A value of one of the maps, or of a table, which a map of maps gave; or NULL. */
void *bpf_map_lookup_elem(const void *map, const void *key);

/* 0, or negative if not all of it can be read: then it is zeros. */
long bpf_probe_read_user(void *to, __u32 size, const void *from);

static inline long bpf_probe_read_kernel(void *to, __u32 size, const void *from)
{
	memcpy(to, from, size);
	return 0;
}

#endif /* OW_BPFTWIN_H */
