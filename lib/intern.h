/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Strings kept once each, in memory of the budget or within a limit of their own, until
 * all of them go.
 */
#ifndef OW_INTERN_H
#define OW_INTERN_H

#include <stdbool.h>
#include <stddef.h>

struct ow_intern_string;

/* All zero is an empty one. */
struct ow_intern {
	struct ow_intern_string **buckets;
	size_t nr, nr_buckets; /* a power of two */
	size_t own;            /* bytes that all take, of the budget */
	size_t limit; /* bytes that all may take, beside the budget; 0: of it */
};

/* Bytes of a text that are kept; "..." stands for the rest. */
#define OW_INTERN_LONGEST 16384

/*
 * The kept copy of text, or NULL for NULL, when out of memory, and where it would take
 * more than the strings may have (budget.h).
 */
const char *ow_intern_add(struct ow_intern *in, const char *text);

/*
 * The same for one of several users of the strings, which has *used bytes of them: it
 * may have a quarter of what the others leave over.
 */
const char *ow_intern_add_for(struct ow_intern *in, const char *text,
			      size_t *used);

/* What several users of the strings have together. */
struct ow_intern_group {
	size_t used;   /* bytes */
	bool is_short; /* the last string that was to be kept had no room in it */
};

/*
 * The same for a user who is one of a group: that may have half of what the others leave
 * over.
 */
const char *ow_intern_add_in(struct ow_intern *in, const char *text,
			     size_t *used, struct ow_intern_group *group);

void ow_intern_deinit(struct ow_intern *in);

#endif /* OW_INTERN_H */
