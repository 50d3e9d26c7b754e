/* SPDX-License-Identifier: BSD-2-Clause */
/* The cache of compact tables on disk, by build-id. */
#ifndef OW_TABLEFILE_H
#define OW_TABLEFILE_H

#include <outwind/outwind.h>

#include "table.h"
#include "tablestamp.h"

struct ow_filemap;
struct ow_object;

/* A table file, mapped. */
struct ow_tablefile {
	struct ow_table table;
	struct ow_tablestamp stamp;
	size_t table_size; /* in bytes, of which the stamp is none */
	struct ow_filemap *map;
	const void *bytes;
	size_t size;
};

/* Is there a cache?  What finds none has no table to look for. */
bool ow_tables_exist(void);

/*
 * Map the table of an object from the cache.  Return NULL if there is none, or
 * none that is whole, that was made for this very file in this state, and that
 * only we or root can have written, as well as the file.
 */
struct ow_tablefile *ow_tablefile_open(const struct ow_object *obj);

void ow_tablefile_close(struct ow_tablefile *f);

/* Why the cache has no table of a file for which ow_identity_is_ours() is false. */
#define OW_TABLE_OF_OTHERS                                  \
	"no table is kept for it: others may write to it, " \
	"which its times need not tell"

/* Why the cache has no table of a file for which ow_identity_is_kept() is false. */
#define OW_TABLE_NOT_KEPT \
	"no table is kept for it: its file system could tell false times"

/*
 * As ow_table_make(), of fd's file, whose identity may be written down
 * (ow_identity_is_kept()); path is for messages.
 */
int ow_tablefile_make(int fd, const char *path, struct ow_table_stats *stats,
		      struct ow_error *err);

#endif /* OW_TABLEFILE_H */
