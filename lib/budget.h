/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How much memory a run may take for what is in objects' files: decompressed
 * sections, indexes, rows.  Anybody can write a file whose contents take far
 * more memory than the file has bytes.
 *
 * An owner may have a quarter of what the others leave over, so that several
 * greedy ones still leave enough for those that need little.  All functions may
 * be called by several threads at once, for one owner by one only.
 */
#ifndef OW_BUDGET_H
#define OW_BUDGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Take size bytes more for an owner, who has *own of them.  Return false, and
 * take none, if that is more than the owner may have.
 */
bool ow_budget_take(size_t *own, size_t size);

/*
 * The same for what is the run's one input, without which there is nothing to do: it
 * may have three quarters of what is left.
 */
bool ow_budget_take_most(size_t *own, size_t size);

/* Give size bytes of an owner's back. */
void ow_budget_give(size_t *own, size_t size);

/* The bytes that an owner of *own may take; they aren't taken. */
size_t ow_budget_share(size_t own);

/*
 * The bytes that owners who have taken own of them may have in all, if they may have one
 * of so many parts of what others leave over.
 */
uint64_t ow_budget_part(uint64_t own, unsigned int parts);

/* Why something is left out; after its name. */
#define OW_BUDGET_SPENT "would take more memory than it may (--memory-limit)"

/*
 * Note, once, that the file at path goes without what ("its .debug_frame"):
 * ow_left_out() tells of it.
 */
void ow_budget_refuse(const char *path, const char *what);

#endif /* OW_BUDGET_H */
