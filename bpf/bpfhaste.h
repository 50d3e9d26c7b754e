/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which events are taken after the end of a recording, when there is little time for
 * what waits in the ring.  One process can have filled it with what takes long: so each
 * has a little of that time, and then its events are lost, and counted as its own.
 */
#ifndef OW_BPF_HASTE_H
#define OW_BPF_HASTE_H

#include <outwind/record.h>

/* All zero is no haste. */
struct ow_bpfhaste {
	uint64_t until; /* CLOCK_MONOTONIC, ns: after that, all are lost; 0: no haste */
	struct ow_bpfhurried *of; /* processes */
	size_t nr, room;
};

/* Begin, or go on: every process together has ns from the first call on. */
void ow_bpfhaste_begin(struct ow_bpfhaste *h, uint64_t ns);

/* Return true if an event of a process may be taken; or it is counted as lost. */
bool ow_bpfhaste_may_take(struct ow_bpfhaste *h, pid_t pid);

/* That took so long. */
void ow_bpfhaste_spend(struct ow_bpfhaste *h, pid_t pid, uint64_t ns);

/* What was lost of the i-th process.  Return false if there are no more. */
bool ow_bpfhaste_loss(const struct ow_bpfhaste *h, size_t i,
		      struct ow_recorded_loss *ret);

void ow_bpfhaste_deinit(struct ow_bpfhaste *h);

#endif /* OW_BPF_HASTE_H */
