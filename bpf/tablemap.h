/* SPDX-License-Identifier: BSD-2-Clause */
/* An object's compact table as BPF programs read it (uapi/ow_sample.h). */
#ifndef OW_TABLEMAP_H
#define OW_TABLEMAP_H

#include "ow_sample.h"

#include "object.h"
#include "table.h"

/*
 * Lay a table out: fill ret, but for its state, and return the bytes, the
 * caller's to free, a whole number of chunks; or NULL: out of memory, or *stop, which may
 * be NULL and is another thread's, has become true.  The object's CFI, which is loaded,
 * tells of rows that the table leaves to it.
 */
uint8_t *ow_tablemap_make(const struct ow_object *obj, const struct ow_table *t,
			  const bool *stop, struct ow_bpf_object *ret,
			  size_t *size_ret);

#endif /* OW_TABLEMAP_H */
