/* SPDX-License-Identifier: BSD-2-Clause */
/* All functions of an object in order: dear to make, quick to ask. */
#ifndef OW_SYMINDEX_H
#define OW_SYMINDEX_H

#include "function.h"
#include "owner.h"

struct ow_symindex;

/*
 * Memory is taken for an owner who has none yet.  NULL when there is not enough, or when the
 * owner's user has no time left (bulk.h).  Names are borrowed from the tables.
 */
struct ow_symindex *ow_symindex_create(const struct ow_symbols *tables,
				       size_t nr, struct ow_owner own);

/* The innermost function that covers vaddr, or NULL. */
const struct ow_function *ow_symindex_find(const struct ow_symindex *x,
					   uint64_t vaddr);

void ow_symindex_destroy(struct ow_symindex *x);

#endif /* OW_SYMINDEX_H */
