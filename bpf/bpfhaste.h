/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which events are taken after the end of a recording, when there is little time
 * for what waits in the ring.  A process, or many processes of one user, can have
 * filled it with what takes long: so each process has a little of that time, and
 * each user but root no more than half of what other users leave over.  Then
 * events are lost, and those that are counted so are the process's own.
 */
#ifndef OW_BPF_HASTE_H
#define OW_BPF_HASTE_H

#include <outwind/record.h>

#define OW_BPF_HASTE_SLOTS 2048 /* twice as many as are told apart */

/* Processes, or users. */
struct ow_bpfhurries {
	struct ow_bpfhurried *of;
	size_t nr, room;
	uint16_t slots[OW_BPF_HASTE_SLOTS]; /* by hash: the number in of, plus 1 */
};

/* All zero is no haste. */
struct ow_bpfhaste {
	/* CLOCK_MONOTONIC, ns: after that, all are lost; 0: there is no haste. */
	uint64_t until;
	uint64_t ns;    /* that all have together, */
	uint64_t spent; /* and that their events took */
	struct ow_bpfhurries processes, users;
};

/* Begin, or go on: every process together has ns from the first call on. */
void ow_bpfhaste_begin(struct ow_bpfhaste *h, uint64_t ns);

/*
 * Return true if an event of a user's process may be taken.  All processes whose user is
 * not known have one uid.
 */
bool ow_bpfhaste_may_take(struct ow_bpfhaste *h, pid_t pid, uid_t uid);

/* Count one as lost that may not. */
void ow_bpfhaste_lose(struct ow_bpfhaste *h, pid_t pid);

/* That took so long. */
void ow_bpfhaste_spend(struct ow_bpfhaste *h, pid_t pid, uid_t uid,
		       uint64_t ns);

/* What was lost of the i-th process.  Return false if there are no more. */
bool ow_bpfhaste_loss(const struct ow_bpfhaste *h, size_t i,
		      struct ow_recorded_loss *ret);

void ow_bpfhaste_deinit(struct ow_bpfhaste *h);

#endif /* OW_BPF_HASTE_H */
