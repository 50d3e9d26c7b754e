/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * All rows of an object's FDEs one after another, with numbers for what they
 * are: a table's content, before it is coded.
 */
#ifndef OW_FLATROWS_H
#define OW_FLATROWS_H

#include "object.h"
#include "tableseq.h"
#include "tableset.h"

#define OW_FLATROWS_SLOTS 8192 /* of the hash of rules; a power of two */

/* An FDE of one of the sections. */
struct ow_listed_fde {
	struct ow_fde_ref ref;
	bool is_debug;
};

struct ow_flatrows {
	struct ow_flat_row *rows;
	size_t nr, room;
	uint8_t ra; /* slot, of the first row; others' are left to the CFI */
	uint64_t start, end; /* vaddrs that FDEs cover */
	struct ow_tablesets sets;
	uint32_t rules[OW_FLATROWS_SLOTS]; /* OW_TABLE_RULE(), by number */
	uint32_t nr_rules;
	uint16_t rule_hash[OW_FLATROWS_SLOTS]; /* 1 + index; 0 is empty */
	uint64_t cfi_rows, escapes; /* rows that went in; and of them, those
				       that only the full CFI can express */
};

/*
 * Make those of nr FDEs, at least one, which lie in address order and begin
 * within 4 GiB; by two threads, if they are many.  NULL when out of memory.
 */
struct ow_flatrows *ow_flatrows_make(const struct ow_object *obj,
				     const struct ow_listed_fde *list,
				     size_t nr);
void ow_flatrows_destroy(struct ow_flatrows *f);

/* Append b's rows to a's, as if both had been made as one; false if that can't
   be: there is no room, or no memory. */
bool ow_flatrows_append(struct ow_flatrows *a, const struct ow_flatrows *b,
			const struct ow_object *obj);

#endif /* OW_FLATROWS_H */
