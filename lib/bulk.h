/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How many bytes of tables a run may look through from their begin to their end, or
 * decompress, for each user whose objects they are in: a sparse file costs its owner
 * nothing, however large its tables are, and little what is packed.  What was looked
 * through comes back as time goes by (effort.h).
 *
 * All functions may be called by several threads at once.
 */
#ifndef OW_BULK_H
#define OW_BULK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum ow_bulk {
	OW_BULK_SECTIONS, /* headers of an object, by all looks for sections */
	OW_BULK_SYMBOLS,  /* of all passes over them */
	OW_BULK_RELOCATIONS, /* that name stubs, for each stub */
	OW_BULK_UNWIND,      /* .eh_frame, .debug_frame */
	OW_BULK_PACKED,      /* of sections that are decompressed, */
	OW_BULK_UNPACKED,    /* and that they are decompressed to */
	OW_NR_BULKS
};

struct ow_owner;

/*
 * Take bytes from what the run may look through of the files of the owner's user, or of
 * those that are of no user's share.  Return false, and take none, if they are more than
 * a quarter of what is left: a greedy object leaves enough for others.
 */
bool ow_bulk_take(enum ow_bulk which, const struct ow_owner *own,
		  uint64_t bytes);

#define OW_BULK_PIECE ((size_t)65536) /* packed bytes that are given at once */

/* Packed bytes on their way to a decompressor, in pieces. */
struct ow_bulk_packed {
	size_t left;  /* bytes after the last piece, */
	size_t piece; /* which has so many; 0: none was taken yet */
	uint64_t had; /* that were unpacked before it */
	/* A byte takes the decompressor as long as so many of zlib's; 0: as one. */
	unsigned int weight;
	uint64_t since; /* ow_bulk_has_time() */
};

/*
 * What a run may take of a CPU's time to decompress, and to list entries, has a limit for
 * each user, too, as a byte can take a hundred times as long as usual.  Spend what the
 * calling thread has taken since the last call; *since is 0 at the first one.  Return
 * false if the user has no time left.
 */
bool ow_bulk_has_time(const struct ow_owner *own, uint64_t *since);

/*
 * As ow_bulk_has_time(), but so many ns of what was taken since then are usual, and cost
 * the user nothing.
 */
bool ow_bulk_has_time_beyond(const struct ow_owner *own, uint64_t *since,
			     uint64_t usual_ns);

/*
 * Return true if what the user had no time for may be tried again, which has failed so
 * often: the user has a tenth of a second, or twice as much after each try, up to half a
 * second.  So what takes little comes first, and is not begun with too little time.
 */
bool ow_bulk_may_retry(const struct ow_owner *own, unsigned int nr_failed);

/*
 * Go on to the next piece, when so many bytes in all are unpacked.  The last piece is taken
 * from OW_BULK_PACKED: packed blocks need not hold anything, and take long then, so that
 * where less came out than was packed each byte counts as 64.  Return false if the run has
 * no time for that.
 */
bool ow_bulk_next_piece(struct ow_bulk_packed *p, const struct ow_owner *own,
			uint64_t unpacked);

#endif /* OW_BULK_H */
