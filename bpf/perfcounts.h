/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Calls of mremap(2), counted by perf events for each process that has moved code: where
 * the calls of all processes are too many to be told one by one, it is known still which
 * process has made none.  The counts make no records, and no other process's calls
 * disturb them.
 */
#ifndef OW_PERFCOUNTS_H
#define OW_PERFCOUNTS_H

#include <linux/perf_event.h>

#include "images.h"

/* Linux, arch/x86/entry/syscalls: mremap(2) of x86-64, of x32 and of i386. */
#define OW_PERFCOUNTS_FILTER "id == 25 || id == 1073741849 || id == 163"

struct ow_perfcount; /* events of one process */

/* All zero: nothing is counted. */
struct ow_perfcounts {
	struct ow_perfcount *list;
	size_t nr, room;
	size_t nr_fds;        /* of all */
	uint64_t event;       /* the number of the tracepoint; or 0 */
	uint64_t read_at;     /* CLOCK_MONOTONIC, ns */
	uint64_t begun_until; /* ns; the share of time that to begin took so far */
};

/*
 * Fill in an event for the tracepoint of all system calls, of which
 * OW_PERFCOUNTS_FILTER leaves calls of mremap(2).  Return its number; 0 if the kernel has
 * none, or it can't be found.
 */
uint64_t ow_perfcounts_find_event(struct perf_event_attr *attr);

/*
 * A process was sampled: if it has moved code, and calls were lost lately, its calls and
 * those of its kin are counted from now on.  They are not where that takes too many
 * descriptors, where threads end as fast as they are listed, or on Linux before 5.13.
 */
void ow_perfcounts_note(struct ow_perfcounts *c, const struct ow_images *im,
			pid_t pid);

/*
 * Read all counts, so that ow_imagekin_called() holds for what was sampled until now; if
 * all isn't set, not as often as this is called.  What is not needed any more is closed.
 */
void ow_perfcounts_read(struct ow_perfcounts *c, const struct ow_images *im,
			bool all);

void ow_perfcounts_deinit(struct ow_perfcounts *c);

#endif /* OW_PERFCOUNTS_H */
