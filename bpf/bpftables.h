/* SPDX-License-Identifier: BSD-2-Clause */
/* Tables of objects in BPF maps, loaded when they are needed. */
#ifndef OW_BPFTABLES_H
#define OW_BPFTABLES_H

#include "recorder.h"

#define OW_BPFTABLES_WAITING 64

struct ow_bpftables {
	struct ow_sampledobjects *objects;
	int tables;                  /* fd of the map of maps */
	struct ow_bpf_object *heads; /* the map of objects, mapped */
	uint32_t *sizes;             /* bytes in the kernel, by number */
	bool *tried;                 /* to make a table, by number */
	size_t bytes, limit;
	/* Made, but not entered yet: the kernel takes its time for that, and
	   no more of it for many at once. */
	uint32_t waiting[OW_BPFTABLES_WAITING];
	int waiting_fds[OW_BPFTABLES_WAITING];
	uint32_t nr_waiting;
	uint64_t evictions;
	uint32_t now; /* the programs note it with what they read */
};

int ow_bpftables_init(struct ow_bpftables *t, int tables, int heads,
		      struct ow_error *err);
void ow_bpftables_deinit(struct ow_bpftables *t);

/*
 * Make an object's table if that has not been tried and there is room; false if
 * there is nothing to do.  It is there once ow_bpftables_flush() was called.
 */
bool ow_bpftables_prepare(struct ow_bpftables *t, uint32_t number);

/*
 * See to it that an object's table is made, if it can have one; those that were
 * not read for the longest time make room.
 */
void ow_bpftables_load(struct ow_bpftables *t, uint32_t number);

/* Enter all tables that were made. */
void ow_bpftables_flush(struct ow_bpftables *t);

#endif /* OW_BPFTABLES_H */
