/* SPDX-License-Identifier: BSD-2-Clause */
/* What a trace says of each process or thread: sorted records, found by number. */
#ifndef OW_TRACELIST_H
#define OW_TRACELIST_H

#include <stddef.h>
#include <stdint.h>

/* What a record begins with. */
struct trace_key {
	unsigned int host; /* as tracemaps_host() numbers them */
	int64_t id;        /* of the process, or the thread */
};

/* Zeroed is empty; who has it frees "all". */
struct trace_list {
	void *all; /* nr records of the size that each call is told */
	size_t nr, room;
};

/* The record; NULL if there is none. */
void *trace_list_get(const struct trace_list *l, size_t size,
		     struct trace_key key);

/*
 * The same, added and zeroed behind its key if there is none; others may be
 * elsewhere then.  NULL: out of memory.
 */
void *trace_list_add(struct trace_list *l, size_t size, struct trace_key key);

#endif /* OW_TRACELIST_H */
