/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Objects whose tables are to be made, the most urgent first: those that samples
 * wait for, and else in the order in which they were seen.
 */
#ifndef OW_TABLESDUE_H
#define OW_TABLESDUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ow_object;

struct ow_tabledue {
	const struct ow_object *object; /* its CFI is loaded */
	uint32_t number;
	bool is_asked; /* by a sample */
	bool is_large; /* takes long, and two threads to make */
};

struct ow_tablesdue {
	struct ow_tabledue *all;
	size_t nr, room;
};

/* Add one that isn't among them; false: out of memory. */
bool ow_tablesdue_add(struct ow_tablesdue *d, const struct ow_tabledue *one);

/* A sample waits for this object's, if it is among them. */
void ow_tablesdue_ask(struct ow_tablesdue *d, uint32_t number);

/*
 * Take the most urgent one, which may be large or not; false if there is none
 * such.
 */
bool ow_tablesdue_take(struct ow_tablesdue *d, bool may_be_large,
		       struct ow_tabledue *ret);

#endif /* OW_TABLESDUE_H */
