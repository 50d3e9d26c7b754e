/* SPDX-License-Identifier: BSD-2-Clause */
/* Running FDEs' instructions for all the rows that they make. */
#ifndef OW_FDEROWS_H
#define OW_FDEROWS_H

#include "flatrows.h"
#include "object.h"

#define OW_FDEROWS_DEBUG ((uint64_t)1 << 63) /* off is in .debug_frame */

/*
 * Make the rows of nr FDEs, at least one, which lie in address order and begin
 * within 4 GiB; offs may have OW_FDEROWS_DEBUG set.  By two threads, if they
 * are many.  NULL when out of memory, where an FDE isn't what the list says, or
 * when *stop, which may be NULL and is another thread's, has become true.
 */
struct ow_flatrows *ow_fderows_make(const struct ow_object *obj,
				    const struct ow_fde_ref *list, size_t nr,
				    const bool *stop);

static inline bool ow_is_given_up(const bool *stop)
{
	return stop && __atomic_load_n(stop, __ATOMIC_RELAXED);
}

#endif /* OW_FDEROWS_H */
