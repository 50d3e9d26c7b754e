/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Perf events don't tell of all code that takes the place of other code: what processes
 * have mapped is looked at again from time to time.  What was sampled since the look
 * before, in code that turns out to be another one, is not named then.
 */
#ifndef OW_PERFCHECKS_H
#define OW_PERFCHECKS_H

#include "recorder.h"

/* A process that was sampled since it was looked at, and how often. */
struct ow_perfcheck {
	pid_t pid;
	uint64_t nr;
};

/* All zero is empty. */
struct ow_perfchecks {
	struct ow_perfcheck *due;
	size_t nr, room;
	uint64_t next; /* no look before that, for the time they take */
};

/* A process was sampled. */
void ow_perfchecks_note(struct ow_perfchecks *c, struct ow_recorder *r,
			pid_t pid);

/*
 * Look at processes whose turn it is, or at all that were sampled, for about ns at
 * most: first at those that were sampled most.  read() is to apply all that has been told by then.
 */
void ow_perfchecks_run(struct ow_perfchecks *c, struct ow_recorder *r, bool all,
		       uint64_t ns, void (*read)(struct ow_recorder *r));

void ow_perfchecks_deinit(struct ow_perfchecks *c);

#endif /* OW_PERFCHECKS_H */
