/* SPDX-License-Identifier: BSD-2-Clause */
/* Writing rows as a table has them: in blocks, by codes for what is in them. */
#ifndef OW_TABLECODE_H
#define OW_TABLECODE_H

#include "tableseq.h"

/* Bytes that grow. */
struct ow_bytes {
	uint8_t *at;
	size_t size, room;
};

/* What of a table is made of its rows. */
struct ow_coded {
	struct ow_bytes blocks; /* a __u32 each */
	struct ow_bytes rows, codes, seqs;
};

/*
 * Code the rows that seqs was made of, flat, whose rules are one of the codes
 * below OW_TABLE_FIRST, or that plus an index in rules, each an
 * OW_TABLE_RULE().  Blocks count from the first row.  Return 0, or -1
 * when out of memory.  Free in either case.
 */
int ow_coded_make(struct ow_coded *c, const struct ow_flat_row *flat,
		  const uint32_t *rules, uint32_t nr_rules,
		  const struct ow_seqs *seqs);
void ow_coded_free(struct ow_coded *c);

#endif /* OW_TABLECODE_H */
