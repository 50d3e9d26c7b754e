/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Looking up a row in a compact table (uapi/ow_table.h). */
#ifndef OW_TABLE_H
#define OW_TABLE_H

#include "ow_table.h"

#include "arch.h"
#include "row.h"

/* A table whose head has been checked: its parts, by pointers into its bytes. */
struct ow_table {
	const struct ow_arch *arch;
	uint64_t base;
	uint8_t ra;
	uint32_t nr_pages, nr_rows, nr_rules, nr_sets, sets_size;
	uint32_t nr_seqs, nr_parts;
	const uint32_t *pages;
	const struct ow_table_row *rows;
	const uint32_t *rules;
	const uint16_t *set_offs;
	const uint16_t *seqs;
	const uint16_t *part_rules;
	const uint8_t *part_pcs;
	const uint8_t *sets;
};

/* The checksum of a table's bytes; size is at least a head's. */
uint64_t ow_table_checksum(const uint8_t *bytes, uint64_t size);

/*
 * Take size bytes, which are aligned to 8 and stay where they are, as a table:
 * checks that the head is in order and that its parts fill the bytes exactly.
 * A look-up checks what it reads, so that a damaged table can give wrong rows,
 * but never a read out of bounds.  ow_table_verify() finds what a look-up could
 * fail of; that a table is as it was made only ow_table_checksum() can tell.
 * Return 0, -OW_EFORMAT or -OW_EUNSUPPORTED.
 */
int ow_table_open(struct ow_table *t, const uint8_t *bytes, uint64_t size);

/*
 * Check every page, row, rule and set.  Return 0, and no look-up will return
 * -OW_EFORMAT; or -OW_EFORMAT.
 */
int ow_table_verify(const struct ow_table *t);

/*
 * The row that covers vaddr.  rules holds OW_MAX_REGS.  Return 0; -OW_ENOENT
 * where no CFI covers vaddr; -OW_EUNSUPPORTED where the full CFI must be asked;
 * -OW_EFORMAT.
 */
int ow_table_row(const struct ow_table *t, uint64_t vaddr, struct ow_row *row,
		 struct ow_rule *rules);

/*
 * The vaddr where part k of row number i < nr_rows begins, and in *parts_ret
 * how many parts the row has; for listings and tests.
 */
uint64_t ow_table_row_vaddr(const struct ow_table *t, uint32_t i, uint32_t k,
			    uint32_t *parts_ret);

#endif /* OW_TABLE_H */
