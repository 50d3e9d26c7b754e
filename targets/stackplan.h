/* SPDX-License-Identifier: BSD-2-Clause */
/* Which part of a stopped thread's memory is its stack, and worth copying. */
#ifndef OW_STACKPLAN_H
#define OW_STACKPLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct ow_arch;
struct ow_mappings;
struct ow_stackcopy;

struct ow_stackplan {
	struct ow_mappings *maps;
	struct ow_stackcopy *copy; /* what is planned is asked of it */
	size_t limit;              /* bytes of a stack at most; 0: no limit */
	uint64_t main_start;       /* where the main thread's began, or 0 */
	pid_t pid;                 /* whose memory it is; 0: not known */
	/* After that time of CLOCK_MONOTONIC stacks that the process may not read, or
	   that aren't listed, aren't looked for, but counted; 0: no limit. */
	uint64_t until_ns;
	size_t nr_unasked;
};

/*
 * Plan to copy the stack that sp is on, up to its base as far as that is known;
 * tp is the thread pointer, or 0.  Return the region's index, or -1.  A stack that its
 * process may not read now is planned as far as its pages are there, which those of a
 * guard below a stack aren't, unless it is of a file: what serves that may not answer.
 */
ssize_t ow_stackplan_add(struct ow_stackplan *p, uint64_t sp, uint64_t tp);

/*
 * A thread on an alternate stack, in a signal handler as a rule, goes on with
 * its own: plan to copy that, from the lowest place that the region copied
 * first points to.  Where the signal interrupted a third one, a coroutine's, also
 * that.
 */
void ow_stackplan_add_home(struct ow_stackplan *p, size_t region,
			   const struct ow_arch *arch, bool is_leader,
			   uint64_t tp);

#endif /* OW_STACKPLAN_H */
