/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The maps that the loader fills for the walker. */
#ifndef OW_BPF_MAPS_H
#define OW_BPF_MAPS_H

#include "bpfenv.h"

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1); /* as many as there may be threads */
	__type(key, __u32);     /* pid */
	__type(value, struct ow_bpf_process);
} processes SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, OW_BPF_RANGES);
	__type(key, __u32);
	__type(value, struct ow_bpf_range);
} ranges SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, OW_BPF_OBJECTS);
	__type(key, __u32);
	__type(value, struct ow_bpf_object);
} objects SEC(".maps");

struct chunk {
	__u64 words[OW_BPF_CHUNK / 8];
};

struct chunks {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_INNER_MAP | BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(struct chunk));
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, OW_BPF_OBJECTS);
	__type(key, __u32);
	__array(values, struct chunks);
} tables SEC(".maps");

extern const volatile struct ow_bpf_arch arch;
extern const volatile __u64 hash_key;

#endif /* OW_BPF_MAPS_H */
