/* SPDX-License-Identifier: BSD-2-Clause */
/* The expressions of rows, and those that say no more than a rule does. */
#ifndef OW_ROWEXPR_H
#define OW_ROWEXPR_H

#include "arch.h"
#include "row.h"

struct ow_rowexpr {
	const uint8_t *whole; /* its length (ULEB128), and then */
	const uint8_t *code;  /* so many bytes of it */
	uint64_t size;
};

/* A register plus an offset; or the word that lies there, plus another. */
struct ow_plainexpr {
	uint8_t reg; /* slot */
	bool deref;
	int32_t off;
	int32_t add; /* to the word; 0 without deref */
};

/* The expression of one of the row's rules; false if it isn't there. */
bool ow_rowexpr_of(const struct ow_row *row, const struct ow_rule *rule,
		   struct ow_rowexpr *ret);

/*
 * Return true if it is a plain one: DW_OP_breg and an offset, then nothing, or
 * DW_OP_deref, and then DW_OP_plus_uconst, DW_OP_lit and DW_OP_plus, or nothing
 * (DWARF 5, 2.5.1).
 */
bool ow_rowexpr_plain(const struct ow_arch *arch, const struct ow_rowexpr *e,
		      struct ow_plainexpr *ret);

/*
 * Does the row say what ow_arch_sigframe_row() does, of the architecture's first
 * kind of signal frame?
 */
bool ow_row_is_sigframe(const struct ow_arch *arch, const struct ow_row *row);

#endif /* OW_ROWEXPR_H */
