/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a trace says of each process or thread: records found by number, in memory of
 * the budget.
 */
#ifndef OW_TRACELIST_H
#define OW_TRACELIST_H

#include <stddef.h>
#include <stdint.h>

struct trace_key {
	const char *host; /* of tracemaps_host(): the same for the same name */
	int64_t id;       /* of the process, or the thread */
};

/* What a record begins with. */
struct trace_record {
	struct trace_record *next; /* the list's own */
	struct trace_key key;
};

/* Zeroed is empty. */
struct trace_list {
	struct trace_record **buckets;
	size_t nr, nr_buckets; /* a power of two */
	size_t own;            /* bytes taken from the budget */
};

/* The record; NULL if there is none. */
void *trace_list_get(const struct trace_list *l, struct trace_key key);

/*
 * The same, added and zeroed behind its key if there is none, of size bytes, which *own
 * has from the budget then: the list's, where that is NULL.  It stays where it is.
 * NULL: that would take more memory than its owner may have.
 */
void *trace_list_add(struct trace_list *l, size_t size, struct trace_key key,
		     size_t *own);

/* Free a record; size and own are what it was added with. */
void trace_list_remove(struct trace_list *l, void *record, size_t size,
		       size_t *own);

/* Call each() with all records, in any order. */
void trace_list_each(const struct trace_list *l, void (*each)(void *record));

/* Free all records. */
void trace_list_deinit(struct trace_list *l);

#endif /* OW_TRACELIST_H */
