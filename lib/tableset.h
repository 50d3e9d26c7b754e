/* SPDX-License-Identifier: BSD-2-Clause */
/* The sets of registers of a table under construction. */
#ifndef OW_TABLESET_H
#define OW_TABLESET_H

#include "arch.h"
#include "ow_table.h"

struct ow_tableset {
	uint8_t head, reg; /* as in struct ow_table_set */
	uint8_t saves[2 * OW_TABLE_MAX_SAVES];
};

struct ow_tablesets {
	struct ow_tableset all[OW_TABLE_MAX_SETS];
	uint32_t nr;
};

/*
 * The index of the set of a row whose CFA is a register plus an offset and
 * whose return address is to be in slot ra; added if it is new.  False if a
 * table can't hold it, or has no room.
 */
bool ow_tablesets_find(struct ow_tablesets *s, const struct ow_arch *arch,
		       uint8_t ra, const struct ow_row *row, uint32_t *ret);

/* The same for a set of another such list. */
bool ow_tablesets_add(struct ow_tablesets *s, const struct ow_tableset *set,
		      uint32_t *ret);

#define OW_TABLESETS_MAX_SAVES (OW_TABLE_MAX_SETS * 2 * OW_TABLE_MAX_SAVES)

/*
 * Write the sets as they stand in a table: nr of them to sets, and what they
 * save to saves, which has room for OW_TABLESETS_MAX_SAVES; return how many
 * bytes that takes.
 */
uint16_t ow_tablesets_write(const struct ow_tablesets *s,
			    struct ow_table_set *sets, uint8_t *saves);

#endif /* OW_TABLESET_H */
