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
 * Have memory be read by the first of threads [first, end) that stands: a thread that
 * memory was read by before may have exited.  Return false if none stands.
 */
bool ow_standing_settle_live(struct ow_taken *t, size_t first, size_t end);

/*
 * Have what is listed be what they have mapped, and plan to copy their stacks.  If it
 * can't be known what their addresses mean they are given up, with the reason.
 */
void ow_standing_plan(struct ow_taken *t, size_t first, size_t end);

/*
 * After their stacks were copied: where other code is mapped than was before, stacks
 * that lead there end.  For threads that may go on meanwhile, or whose memory is.
 */
void ow_standing_check(struct ow_taken *t);

/*
 * After threads that were stopped go on again: let stacks end likewise.  Only another
 * process that shares their memory can have changed anything before.  Such a process is
 * looked for if anything was changed, or if there was time to change it and back.  If
 * there is one, or if that can't be known in time, no code counts that is seen to be
 * replaced.
 */
void ow_standing_check_shared(struct ow_taken *t);

#endif /* OW_STANDING_H */
