/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Stopping a process's threads and copying what unwinding needs.
 *
 * Whoever calls is their tracer: a thread that ends soon after, so that the
 * kernel lets go of what could not be released.
 */
#ifndef OW_FREEZE_H
#define OW_FREEZE_H

struct ow_taken;

/*
 * Take all threads that aren't captured yet, in one moment; if that would keep them
 * longer than the limit, in several, each of as many as there is time for.
 */
void ow_freeze_all(struct ow_taken *t);

/*
 * Take them one after another; or several together, if to compare what is mapped, or
 * to read, would take seconds for each by itself.
 */
void ow_freeze_each(struct ow_taken *t);

#endif /* OW_FREEZE_H */
