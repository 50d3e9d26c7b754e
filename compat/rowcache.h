/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A cache from address to row that threads and signal handlers share without a
 * lock.  An entry's seq is odd while one writes it, and differs afterwards; who
 * finds that it did so meanwhile has found nothing.
 *
 * Rows are kept as the engine's own cache has them: the CFA is a register and
 * an offset, and registers are saved at whole words below it.
 */
#ifndef OW_ROWCACHE_H
#define OW_ROWCACHE_H

#include "row.h"

struct ow_arch;

#define OW_SAVED_MAX 16

enum ow_saved_flags {
	OW_SAVED_OUTERMOST = 1,  /* there is no caller */
	OW_SAVED_TRAMPOLINE = 2, /* a signal's frame; no CFA is given */
};

struct ow_saved_row {
	uint32_t seq;
	int32_t cfa_off;
	uint64_t addr;
	uint64_t tag; /* of what the row came from; 0: it holds for ever */
	uint8_t cfa_reg;
	uint8_t flags;    /* enum ow_saved_flags */
	uint8_t nr;       /* saves */
	uint8_t ra_words; /* below the CFA; 0: not saved */
	uint8_t depth;    /* of the lowest save, in words */
	uint8_t how;      /* enum ow_how */
	uint8_t unused[2];

	struct {
		uint8_t slot;
		uint8_t words; /* below the CFA */
	} saves[OW_SAVED_MAX];
};

_Static_assert(sizeof(struct ow_saved_row) == 64, "one entry, one cache line");

struct ow_rowcache {
	struct ow_saved_row *entries; /* all zero at first */
	uint32_t mask; /* a power of two, minus one; at least 1 */
};

/* Copy what is known of addr, whatever its tag; false if nothing is. */
bool ow_rowcache_get(const struct ow_rowcache *c, uint64_t addr,
		     struct ow_saved_row *ret);

/* Remember it, if nobody else is writing just there. */
void ow_rowcache_put(struct ow_rowcache *c, const struct ow_saved_row *row);

/* Bring a row into that form, or return false if it can't be. */
bool ow_saved_row_make(struct ow_saved_row *s, const struct ow_arch *arch,
		       const struct ow_row *row);

#endif /* OW_ROWCACHE_H */
