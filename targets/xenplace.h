/* SPDX-License-Identifier: BSD-2-Clause */
/* Where a guest's kernel is: it may have been moved from where it was linked. */
#ifndef OW_XENPLACE_H
#define OW_XENPLACE_H

#include <stdbool.h>
#include <stdint.h>

#include "object.h"

struct ow_nametable;
struct ow_xen;

/*
 * What is to be added to the addresses of a Linux kernel's file: by a name that
 * names, the guest's (or NULL), has, too; by where vector 0 leads; or by the text
 * of the version, which is looked for around a vCPU that is in the kernel.
 * False, and *ret is untouched: none tells.
 */
bool ow_xenplace_find(const struct ow_object *obj, struct ow_xen *x,
		      const struct ow_nametable *names, uint64_t *ret);

/* Is it a Linux kernel whose place can be told, by its symbols? */
bool ow_xenplace_is_movable(const struct ow_object *obj);

#endif /* OW_XENPLACE_H */
