/* SPDX-License-Identifier: BSD-2-Clause */
/* The cache of compact tables on disk, by build-id. */
#ifndef OW_TABLEFILE_H
#define OW_TABLEFILE_H

#include <outwind/outwind.h>

#include "table.h"

struct ow_filemap;
struct ow_object;

/* A table file, mapped. */
struct ow_tablefile {
	struct ow_table table;
	struct ow_filemap *map;
	const void *bytes;
	size_t size;
};

/* Is there a cache?  What finds none has no table to look for. */
bool ow_tables_exist(void);

/*
 * Map the table of an object from the cache.  Return NULL if there is none, or
 * none that is whole, belongs to this build-id and is ours or root's.
 */
struct ow_tablefile *ow_tablefile_open(const struct ow_object *obj);

void ow_tablefile_close(struct ow_tablefile *f);

#endif /* OW_TABLEFILE_H */
