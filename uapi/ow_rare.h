/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) WITH Linux-syscall-note */
/*
 * What an object's compact table leaves to the full CFI (OW_TABLE_ESCAPE,
 * OW_TABLE_SIGNAL), for who has the table only: lazily bound stubs, functions that
 * realign their stack, and the like.  Little-endian, aligned to 4, no padding, in
 * this order:
 *
 *	struct ow_rare_head
 *	struct ow_rare_row rows[nr_rows]    sorted, none overlapping another
 *	struct ow_rare_rule rules[nr_rules]
 *	__u8 exprs[exprs_size]
 */
#ifndef UAPI_OW_RARE_H
#define UAPI_OW_RARE_H

#include <linux/types.h>

#define OW_RARE_MAGIC     0x5252574fU /* "OWRR" */
#define OW_RARE_MAX_ROWS  0x10000
#define OW_RARE_MAX_RULES 0x20000
#define OW_RARE_MAX_EXPRS 0x20000 /* bytes */
#define OW_RARE_MAX_SIZE                                 \
	(sizeof(struct ow_rare_head) +                   \
	 OW_RARE_MAX_ROWS * sizeof(struct ow_rare_row) + \
	 OW_RARE_MAX_RULES * sizeof(struct ow_rare_rule) + OW_RARE_MAX_EXPRS)

struct ow_rare_head {
	__u32 magic;
	__u32 nr_rows, nr_rules, exprs_size;
};

enum ow_rare_flags {
	OW_RARE_SIGNAL = 1,    /* the caller was interrupted */
	OW_RARE_OUTERMOST = 2, /* there is no caller */
	OW_RARE_LAST = 4,      /* nothing is known of what begins at end */
};

/* Rules of a row: the CFA's at rules[first], and nr more of registers. */
struct ow_rare_row {
	__u32 start, end; /* less the table's base */
	__u32 first;
	__u8 nr;
	__u8 flags; /* enum ow_rare_flags */
	__u8 ra;    /* slot that holds the return address afterwards */
	__u8 reserved;
};

enum ow_rare_kind {
	OW_RARE_UNDEFINED = 1, /* not recoverable */
	OW_RARE_SAME,          /* unchanged */
	OW_RARE_AT_CFA,        /* *(cfa + off) */
	OW_RARE_IS_CFA,        /* cfa + off */
	OW_RARE_REG,           /* reg + off */
	OW_RARE_AT_REG,        /* *(reg + off) */
	OW_RARE_AT_EXPR,       /* *expression */
	OW_RARE_IS_EXPR,       /* expression */
	OW_RARE_NR_KINDS
};

/*
 * A CFA is a register plus an offset, what lies there, or an expression.  An
 * expression stands at off in exprs: its length (ULEB128), and operations of
 * DWARF.  It only calculates: it has no jumps, nothing that asks for an
 * object's place; and all those of a row are at most OW_RARE_MAX_OPS.
 */
struct ow_rare_rule {
	__u8 slot; /* of a register; 0 of a CFA */
	__u8 kind; /* enum ow_rare_kind */
	__u8 reg;  /* slot, where the kind has one, or 0 */
	__u8 reserved;
	__s32 off;
};

#define OW_RARE_MAX_OPS 64

#if defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L
_Static_assert(sizeof(struct ow_rare_head) == 16, "no padding");
_Static_assert(sizeof(struct ow_rare_row) == 16, "no padding");
_Static_assert(sizeof(struct ow_rare_rule) == 8, "no padding");
#endif

#endif /* UAPI_OW_RARE_H */
