/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * All rows of an object's FDEs one after another, with numbers for what they
 * are: a table's content, before it is coded.
 */
#ifndef OW_FLATROWS_H
#define OW_FLATROWS_H

#include "error.h"
#include "owner.h"
#include "tableseq.h"
#include "tableset.h"

#define OW_FLATROWS_SLOTS 8192 /* of the hash of rules; a power of two */

struct ow_flatrows {
	struct ow_flat_row *rows;
	size_t nr, room;
	struct ow_owner own;
	uint64_t base; /* vaddr that rows' offsets count from */
	uint8_t ra;    /* slot, of the first row; others' are left to the CFI */
	uint64_t start, end; /* vaddrs that FDEs cover */
	struct ow_tablesets sets;
	uint32_t rules[OW_FLATROWS_SLOTS]; /* OW_TABLE_RULE(), by number */
	uint32_t nr_rules;
	uint16_t rule_hash[OW_FLATROWS_SLOTS]; /* 1 + index; 0 is empty */
	uint64_t cfi_rows, escapes; /* rows that went in; and of them, those
				       that only the full CFI can express */
};

/* The number that stands for a rule; OW_TABLE_ESCAPE if there is no room. */
uint16_t ow_flatrows_rule(struct ow_flatrows *f, uint32_t rule);

/* Room for more rows than there is; false when out of memory. */
bool ow_flatrows_grow(struct ow_flatrows *f, size_t more);

static inline bool ow_flatrows_reserve(struct ow_flatrows *f, size_t more)
{
	return f->room - f->nr >= more || ow_flatrows_grow(f, more);
}

/* Add a row, if it isn't as the one before.  0 or -OW_CODE_MEMORY. */
static inline int ow_flatrows_add(struct ow_flatrows *f, uint64_t vaddr,
				  uint16_t rule, bool entry)
{
	if (f->nr && f->rows[f->nr - 1].rule == rule)
		return 0;
	if (!ow_flatrows_reserve(f, 1))
		return -OW_CODE_MEMORY;
	f->rows[f->nr++] =
		(struct ow_flat_row){ (uint32_t)(vaddr - f->base), rule,
				      entry || rule == OW_TABLE_NONE };
	return 0;
}

/*
 * Go on to where the next FDE starts.  No CFI covers the bytes before it, be they
 * only padding: an address there is nobody's, and a C library ends the stacks of
 * makecontext() by such a byte.  0 or -OW_CODE_MEMORY.
 */
int ow_flatrows_skip(struct ow_flatrows *f, uint64_t to);

void ow_flatrows_destroy(struct ow_flatrows *f);

/* Append b's rows to a's, as if both had been made as one; false if that can't
   be: there is no room, or no memory. */
bool ow_flatrows_append(struct ow_flatrows *a, const struct ow_flatrows *b);

#endif /* OW_FLATROWS_H */
