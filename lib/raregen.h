/* SPDX-License-Identifier: BSD-2-Clause */
/* Making the rows that a compact table leaves to the CFI (uapi/ow_rare.h). */
#ifndef OW_RAREGEN_H
#define OW_RAREGEN_H

#include "bytebuf.h"
#include "object.h"
#include "table.h"

/*
 * Append to ret, whose size is a multiple of 4, what the table leaves to the CFI of
 * its object, which is loaded; nothing if that is nothing.  Rows that can't stand
 * there, or for which there is no room, are left out.  It ends early, with the rows up
 * to there, when *stop, which may be NULL and is another thread's, becomes true.
 */
void ow_rare_generate(const struct ow_object *obj, const struct ow_table *t,
		      const bool *stop, struct ow_bytebuf *ret);

#endif /* OW_RAREGEN_H */
