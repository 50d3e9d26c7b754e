/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How many bytes of the instructions of large FDEs, and operations of long expressions,
 * a run may execute: they run anew for each address that is looked up and for each
 * frame, and anybody can write a file with such for all of its code.  An operation
 * counts as a byte.  What a run has executed comes back as time goes by.
 *
 * All functions may be called by several threads at once.
 */
#ifndef OW_CFIWORK_H
#define OW_CFIWORK_H

#include <stdint.h>

/*
 * What one walk may execute: a quarter of what the run may now, so that a
 * greedy process leaves enough for others.  They aren't taken.
 */
uint64_t ow_cfiwork_share(void);

/* Take what a walk has executed from what the run may. */
void ow_cfiwork_spend(uint64_t bytes);

#endif /* OW_CFIWORK_H */
