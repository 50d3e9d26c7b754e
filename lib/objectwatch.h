/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whether the file of an object was written to since it was opened: what is read of it
 * now need not be what was mapped before.  Its size and times tell that; of a file that
 * others than root and we may write to, which need no new time for that
 * (ow_identity_is_ours()), a hash of what frames are named and found by does.
 */
#ifndef OW_OBJECTWATCH_H
#define OW_OBJECTWATCH_H

#include <stdbool.h>
#include <stdint.h>

struct ow_object;

/* A file with more of such bytes is not hashed. */
#define OW_OBJECTWATCH_MAX ((uint64_t)64 << 20)

/*
 * Hash the bytes, if the file is one that has to be, and with_lines also those that
 * only lines and inlined calls are found by.  Return how many bytes that were.
 */
uint64_t ow_objectwatch_begin(struct ow_object *obj, bool with_lines);

/*
 * Return true if the file would have to be hashed, and was not: who may write to it can do
 * so unseen.
 */
bool ow_objectwatch_is_blind(const struct ow_object *obj);

/*
 * Return true if the bytes are others than those that were hashed.  is_due: whenever
 * they were looked at last; else no more than a small part of the time is spent on it.
 */
bool ow_objectwatch_is_rewritten(struct ow_object *obj, bool is_due);

/*
 * The same, or if the size or the times are others.  False if it can't be looked at, and
 * of bytes that are a copy.
 */
bool ow_objectwatch_is_changed(struct ow_object *obj, bool is_due);

#endif /* OW_OBJECTWATCH_H */
