/* SPDX-License-Identifier: BSD-2-Clause */
/* Copying many pieces of a process's memory in few system calls. */
#ifndef OW_STACKCOPY_H
#define OW_STACKCOPY_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "capture.h"

struct ow_processmem;

/* Memory that copies are put in, one behind another: its own. */
struct ow_copy_chunk {
	struct ow_copy_chunk *next;
	size_t size, used; /* of bytes[] */
	uint8_t bytes[];
};

/* Pieces wanted, then copied: regions whose bytes point into a chunk, or share it. */
struct ow_stackcopy {
	struct ow_region *regions;
	size_t nr, room;
	size_t done; /* of the regions, copied by an earlier run */
	struct ow_copy_chunk *chunks; /* the newest first */
	size_t held;                  /* bytes of all chunks (budget.h) */
	struct ow_unserved over; /* what there was no memory for (budget.h) */
	/* A read may wait without end: reads are delegated (delegate.h). */
	bool is_careful;
	bool has_hung;     /* one has waited too long */
	uint64_t limit_ns; /* for all careful reads of one stop together */
	uint64_t until_ns; /* of CLOCK_MONOTONIC; 0: not begun with in this stop */
	struct ow_unserved unserved;
	bool is_lost; /* a read that nothing ends may still write to a chunk */
};

/*
 * Have room for nr more regions, and for bytes of them in pages that are there
 * already, or for the bytes that may still be taken, so that a run that needs no
 * more doesn't allocate or fault.  False: out of memory.
 */
bool ow_stackcopy_reserve(struct ow_stackcopy *s, size_t nr, size_t bytes);

/* Ask for [start, end).  Return the region's index, or -1: out of memory. */
ssize_t ow_stackcopy_add(struct ow_stackcopy *s, uint64_t start, uint64_t end);

/*
 * Copy all that was asked for since the last run.  A region of which only the
 * first bytes can be read gets that size, maybe 0.  What several have is copied once,
 * if all can be read.  Return the bytes copied.  If all take more memory than they
 * may, or twice the limit where they share it, the largest ones end earlier, as over
 * tells.  A careful run that comes to
 * limit_ns notes what it could not read in unserved; 16 ranges at most, of which
 * the last one may be all that is left.
 */
size_t ow_stackcopy_run(struct ow_stackcopy *s, struct ow_processmem *mem);

/* Free the chunks, unless is_lost; the regions' bytes are no longer valid. */
void ow_stackcopy_free(struct ow_stackcopy *s);

#endif /* OW_STACKCOPY_H */
