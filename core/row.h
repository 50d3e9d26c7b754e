/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * One row of call frame information: how to find the caller at one pc.
 *
 * Every source of rows (compact table, CFI, the architecture's fallbacks) gives
 * this, and one step executes it.  It lists only the registers that a rule
 * speaks of; all others keep their value where the ABI says that a callee saves
 * them, and are lost where it doesn't.
 */
#ifndef OW_ROW_H
#define OW_ROW_H

#include "ow_frame.h"

#include "regs.h"

enum ow_rule_kind {
	OW_RULE_NONE,      /* nothing is said; must be 0 */
	OW_RULE_UNDEFINED, /* not recoverable */
	OW_RULE_SAME,      /* unchanged */
	OW_RULE_AT_CFA,    /* *(cfa + off) */
	OW_RULE_IS_CFA,    /* cfa + off */
	OW_RULE_REG,       /* reg + off */
	OW_RULE_AT_REG,    /* *(reg + off) */
	OW_RULE_AT_EXPR,   /* *expression */
	OW_RULE_IS_EXPR,   /* expression */
};

struct ow_rule {
	uint8_t slot; /* the register that the rule recovers; unused for a CFA */
	uint8_t kind; /* enum ow_rule_kind */
	uint8_t reg;  /* OW_RULE_REG, OW_RULE_AT_REG: slot */
	/*
	 * Bytes; or for an expression, where in row.exprs its length (ULEB128)
	 * and bytes stand.
	 */
	int32_t off;
};

enum ow_row_flags {
	OW_ROW_SIGNAL = 1,    /* the caller was interrupted, it did not call */
	OW_ROW_OUTERMOST = 2, /* there is no caller: the RA is undefined */
	OW_ROW_LAST = 4, /* found for the last byte before what has no CFI */
};

struct ow_row {
	struct ow_rule cfa; /* kind OW_RULE_REG, _AT_REG or _IS_EXPR */
	uint8_t nr;         /* rules in use */
	uint8_t flags;      /* enum ow_row_flags */
	uint8_t ra;         /* slot that holds the return address afterwards */
	uint8_t how;        /* enum ow_how: what the row was found by */
	uint32_t exprs_size;
	const uint8_t *exprs; /* borrowed from the module's section, or NULL */
	uint64_t bias; /* of that module: an expression may hold vaddrs */
	const struct ow_rule *rules; /* borrowed from where the row was made */
};

#endif /* OW_ROW_H */
