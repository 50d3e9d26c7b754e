/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finding runs of rows that occur again and again, prologues and epilogues, so
 * that a table needs to hold them but once.
 */
#ifndef OW_TABLESEQ_H
#define OW_TABLESEQ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ow_table.h"

/* A row on the way to a table. */
struct ow_flat_row {
	uint32_t off; /* vaddr, less what all of a table's count from */
	uint16_t rule;
	bool entry; /* begins a function, or is as one begins: a run's start */
};

/* What became of the rows. */
struct ow_seqs {
	struct ow_flat_row *rows; /* rule may be that of a sequence */
	size_t nr_rows, room;

	struct ow_seq {
		size_t first; /* of the rows given */
		uint8_t size;
	} * seqs;

	uint32_t nr_seqs;
};

/*
 * Replace runs that are worth it by sequences, whose numbers begin with
 * first_number.  Return 0, or -1 when out of memory.  Free in either case.
 */
int ow_seqs_make(struct ow_seqs *s, const struct ow_flat_row *flat, size_t nr,
		 uint32_t first_number);
void ow_seqs_free(struct ow_seqs *s);

#endif /* OW_TABLESEQ_H */
