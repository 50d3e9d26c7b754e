/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the programs are told of processes: which code they have mapped where,
 * and the tables of that.
 */
#ifndef OW_BPFKNOWN_H
#define OW_BPFKNOWN_H

#include "bpfparts.h"

int ow_bpfknown_init(struct ow_recorder *r, struct ow_error *err);
void ow_bpfknown_deinit(struct ow_recorder *r);

/* One more to sample; whatever it has mapped is told at once. */
int ow_bpfknown_add(struct ow_recorder *r, pid_t pid, struct ow_error *err);

/* All processes that there are. */
void ow_bpfknown_add_all(struct ow_recorder *r);

/* Let what has come of processes' lives be known here. */
void ow_bpfknown_follow(struct ow_recorder *r);

/* Tell of this one at once: a sample has hit it. */
void ow_bpfknown_want(struct ow_recorder *r, pid_t pid);

/* Tell of one process that has changed; false if there is none. */
bool ow_bpfknown_tell(struct ow_recorder *r);

/* Note how long tables were waited for that are there by now. */
void ow_bpfknown_settle(struct ow_recorder *r);

#endif /* OW_BPFKNOWN_H */
