/* SPDX-License-Identifier: BSD-2-Clause */
/* Waits that had begun before recording did, and those that outlast it. */
#ifndef OW_BPFWAITS_H
#define OW_BPFWAITS_H

#include "bpfparts.h"

/*
 * Find the threads that wait already; whoever switches from now on is noticed.
 * A kernel that has no iterator over tasks is noted in r->stats.
 */
int ow_bpfwaits_begin(struct ow_recorder *r, struct ow_error *err);

/* Nothing is noticed any more: count the waits that haven't ended, up to end. */
void ow_bpfwaits_end(struct ow_recorder *r, uint64_t end);

/* Keep the stacks that threads wait at: they are counted when that is over. */
bool ow_bpfwaits_keep(struct ow_recorder *r);

#endif /* OW_BPFWAITS_H */
