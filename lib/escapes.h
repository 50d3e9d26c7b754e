/* SPDX-License-Identifier: BSD-2-Clause */
/* The rows of an object's CFI that its compact table leaves to that. */
#ifndef OW_ESCAPES_H
#define OW_ESCAPES_H

#include "object.h"
#include "table.h"

/* One such row. */
struct ow_escape {
	uint64_t start, end;      /* vaddrs that it holds for */
	uint64_t fde_end;         /* where its FDE ends */
	const struct ow_row *row; /* NULL: it can't be read; then up to end */
};

/*
 * List them in order, until each() returns false, or too much work has been
 * done: hostile files can ask for any amount.  The object's CFI is loaded.
 * False when out of memory.
 */
bool ow_escapes_list(const struct ow_object *obj, const struct ow_table *t,
		     bool (*each)(void *arg, const struct ow_escape *e),
		     void *arg);

#endif /* OW_ESCAPES_H */
