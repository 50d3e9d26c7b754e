/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Looking up a row in a compact table (uapi/ow_table.h). */
#ifndef OW_TABLE_H
#define OW_TABLE_H

#include "ow_table.h"

#include "brief.h"
#include "tablerows.h"

/* A table whose head has been checked: its parts, by pointers into its bytes. */
struct ow_table {
	const struct ow_arch *arch;
	uint64_t base;
	uint8_t ra;
	uint32_t nr_blocks, nr_sets, nr_codes;
	uint32_t rows_size, saves_size, seqs_size;
	uint64_t scale; /* blocks a byte, on average, in 2^-32 */
	const uint32_t *blocks;
	const struct ow_table_set *sets;
	const uint8_t *rows, *codes, *saves, *seqs;
};

/* Where a listing of a table's rows stands. */
struct ow_table_pos {
	uint32_t block, row, part; /* the next ones */
	uint32_t seq;              /* the code of what parts are listed of */
	uint64_t row_off;          /* from the table's base to the row, */
	uint64_t off;              /* and to what is listed of it */
	uint32_t code;
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
 * Check every row, sequence, code and set.  Return 0, and no look-up will
 * return -OW_EFORMAT; or -OW_EFORMAT.
 */
int ow_table_verify(const struct ow_table *t);

/* How far a check of rows has come; all zero at first. */
struct ow_table_check {
	struct ow_table_pos pos;
	uint64_t least; /* where the next row may begin */
};

/*
 * The same in pieces, for who may not take long: the sets and codes, and then
 * all rows, at most max of them in a call.  ow_table_verify_rows() returns 1
 * while there may be more.
 */
int ow_table_verify_rules(const struct ow_table *t);
int ow_table_verify_rows(const struct ow_table *t, struct ow_table_check *check,
			 uint32_t max);

/* What a code stands for; the code is one of codes[]. */
static inline uint32_t ow_table_meaning(const struct ow_table *t, uint32_t code)
{
	const uint8_t *at =
		t->codes + 3 * ow_index(code - OW_TABLE_FIRST, t->nr_codes);

	return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16;
}

static inline bool ow_table_is_code(const struct ow_table *t, uint32_t code)
{
	return code < OW_TABLE_FIRST + t->nr_codes;
}

static inline bool ow_table_is_seq(const struct ow_table *t, uint32_t code)
{
	return code >= OW_TABLE_FIRST && ow_table_is_code(t, code) &&
	       OW_TABLE_CODE_IS_SEQ(ow_table_meaning(t, code));
}

/* A look-up: what came of it, and room for it that is not on a stack. */
struct ow_table_look {
	struct ow_tablerows rows; /* of the block, or a sequence */
	uint64_t off;             /* from the table's base */
	uint32_t block;
	uint32_t code; /* of the row */
	uint32_t next; /* of what begins right behind, if last */
	bool last;     /* what is right behind has no CFI */
};

/*
 * The row that covers vaddr: its code, and whether it is the last.  Return 0;
 * -OW_ENOENT where no row is; -OW_EFORMAT.
 */
int ow_table_code(const struct ow_table *t, uint64_t vaddr,
		  struct ow_table_look *l);

/*
 * The row that covers vaddr.  rules holds OW_MAX_REGS.  Return 0; -OW_ENOENT
 * where no CFI covers vaddr; -OW_EUNSUPPORTED where the full CFI must be asked;
 * -OW_EFORMAT.
 */
int ow_table_row(const struct ow_table *t, uint64_t vaddr, struct ow_row *row,
		 struct ow_rule *rules);

/* The row that a code stands for: as ow_table_row() returns. */
int ow_table_rule(const struct ow_table *t, uint32_t code, struct ow_row *row,
		  struct ow_rule *rules);

/*
 * The same in brief, but for addr and generation; false if that can't be, or if
 * the code stands for no row.
 */
bool ow_table_brief(const struct ow_table *t, uint32_t code,
		    struct ow_brief *b);

/* How many different rules there are; the other codes are sequences. */
uint32_t ow_table_nr_rules(const struct ow_table *t);

/*
 * List all rows, those of sequences one by one: pos begins as zeros, and holds
 * the next row's code and how far behind the table's base it begins.  Return 1;
 * 0 after the last one; -OW_EFORMAT.
 */
int ow_table_next(const struct ow_table *t, struct ow_table_pos *pos);

#endif /* OW_TABLE_H */
