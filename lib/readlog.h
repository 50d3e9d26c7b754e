/* SPDX-License-Identifier: BSD-2-Clause */
/* What was read of a target's memory, and the regions that this makes. */
#ifndef OW_READLOG_H
#define OW_READLOG_H

#include "capture.h"

#define OW_READLOG_SIZE 16 /* of an entry at most */

enum ow_readlog_state {
	OW_READLOG_LEFT_OUT,
	OW_READLOG_KEPT,
	OW_READLOG_MAYBE, /* left out for a try */
};

struct ow_readlog_entry {
	uint64_t addr;
	uint8_t size;
	uint8_t state; /* enum ow_readlog_state */
	uint8_t bytes[OW_READLOG_SIZE];
};

/* All zero is empty. */
struct ow_readlog {
	struct ow_readlog_entry *list;
	size_t nr, room;
	size_t settled; /* entries that were left when they were ordered last */
	bool failed;    /* out of memory: entries are missing */
};

/* Regions with their bytes, in address order, none overlapping or touching. */
struct ow_pieces {
	struct ow_region *list;
	size_t nr;
	uint8_t *bytes;
};

/*
 * Note a read as kept; long ones are several entries.  Where there are many more entries
 * than before, they are put in address order, and one is left of those of the same bytes.
 */
void ow_readlog_add(struct ow_readlog *log, uint64_t addr, const void *bytes,
		    size_t size);

/* Put entries in address order. */
void ow_readlog_sort(struct ow_readlog *log);

/* Forget all entries. */
void ow_readlog_clear(struct ow_readlog *log);

void ow_readlog_deinit(struct ow_readlog *log);

/*
 * The bytes of the entries that are kept, each once, in place of what ret has
 * (all zero at first).  The log is sorted.  False if there is no memory.
 */
bool ow_pieces_join(struct ow_pieces *ret, const struct ow_readlog *log);

/* Read from the pieces: 0, or -OW_EFAULT if a byte is in none. */
int ow_pieces_read(const struct ow_pieces *p, uint64_t addr, void *buf,
		   size_t size);

void ow_pieces_deinit(struct ow_pieces *p);

#endif /* OW_READLOG_H */
