/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What stands after a table on disk: the files that it is the table of, each as
 * it was when the table was made or found to be right for it.  A table is found
 * by build-id, and used for these files only: a table that was made of a file
 * with another one's build-id says nothing of the other one.
 */
#ifndef OW_TABLESTAMP_H
#define OW_TABLESTAMP_H

#include "identity.h"

#define OW_TABLESTAMP_FILES 16 /* the last ones; copies in containers, mostly */

/* As it is on disk, little-endian. */
struct ow_tablestamp {
	uint32_t magic;
	uint32_t nr;
	uint64_t check; /* of all other bytes */

	struct ow_tablestamp_file {
		uint64_t dev, inode, size;
		int64_t mtime_ns, ctime_ns;
	} files[OW_TABLESTAMP_FILES]; /* newest first */
};

_Static_assert(sizeof(struct ow_tablestamp) == 656, "no padding");

/* Read one from bytes that need not be aligned; false: it is none, or damaged. */
bool ow_tablestamp_read(struct ow_tablestamp *s, const uint8_t *bytes);

/* Return true if the table is this file's, in this state. */
bool ow_tablestamp_has(const struct ow_tablestamp *s,
		       const struct ow_identity *file);

/* Put the file in front; s may be all zero.  The last one may drop out. */
void ow_tablestamp_add(struct ow_tablestamp *s, const struct ow_identity *file);

#endif /* OW_TABLESTAMP_H */
