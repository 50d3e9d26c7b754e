/* SPDX-License-Identifier: BSD-2-Clause */
/* Copying many pieces of a stopped process's memory in few system calls. */
#ifndef OW_STACKCOPY_H
#define OW_STACKCOPY_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "capture.h"

/* Pieces wanted, then copied: regions whose bytes point into buffer. */
struct ow_stackcopy {
	struct ow_region *regions;
	size_t nr, room;
	size_t done; /* of the regions, copied by an earlier run */

	struct {
		uint8_t *bytes;
		size_t size;
	} buffer[2]; /* of each run */

	unsigned int runs;
};

/* Ask for [start, end).  Return the region's index, or -1: out of memory. */
ssize_t ow_stackcopy_add(struct ow_stackcopy *s, uint64_t start, uint64_t end);

/*
 * Copy all that was asked for since the last run (two at most).  A region of
 * which only the first bytes can be read gets that size, maybe 0.  Return the
 * bytes copied.
 */
size_t ow_stackcopy_run(struct ow_stackcopy *s, pid_t pid);

/* Unmap the buffers; the regions are no longer valid. */
void ow_stackcopy_free(struct ow_stackcopy *s);

/* Read size bytes of a process.  Return how many could be read. */
size_t ow_process_read(pid_t pid, uint64_t addr, void *buf, size_t size);

#endif /* OW_STACKCOPY_H */
