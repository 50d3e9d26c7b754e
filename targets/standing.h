/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Threads that stand still, as they are stopped or wait in the kernel, and whose
 * registers were taken: their stacks are copied by what they have mapped there.
 *
 * All that is mapped was listed before, and may be of other code, or even of a program
 * that an exec has replaced.  So it is compared with what is so by then, after they
 * have come to stand and before they go on.
 */
#ifndef OW_STANDING_H
#define OW_STANDING_H

#include <stdbool.h>
#include <stddef.h>

struct ow_taken;

/*
 * Of threads [first, end): have memory be read of one that stands, as a thread that
 * was asked before may have exited since.  Return false if none stands.
 */
bool ow_standing_settle_live(struct ow_taken *t, size_t first, size_t end);

/*
 * Have what is listed be what they have mapped, and plan to copy their stacks.  If it
 * can't be known what their addresses mean they are given up, with the reason.
 */
void ow_standing_plan(struct ow_taken *t, size_t first, size_t end);

#endif /* OW_STANDING_H */
