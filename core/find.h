/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* From a pc to its row, by the best source that covers it. */
#ifndef OW_FIND_H
#define OW_FIND_H

#include "target.h"

/* Room for one look-up at a time, so that little of it is on the stack. */
struct ow_finder {
	/* What is asked for; brief is the caller's, or NULL. */
	uint64_t vaddr;
	struct ow_brief *brief;

	struct ow_row row; /* what was found; it borrows from the rest */
	struct ow_table_look look;
	struct ow_cfa cfa;
	struct ow_cie_memo memo;
	const uint8_t *initial; /* the entry of the CIE that cfa.initial is of */
	struct ow_fde fde;
	struct ow_rule rules[OW_MAX_REGS];
	uint8_t expr[OW_ORC_EXPR];
};

/* Forget what was read, as it may have changed.  To be called before all else. */
static inline void ow_finder_reset(struct ow_finder *f)
{
	f->memo.entry = NULL;
	f->initial = NULL;
}

/*
 * The row for an addr in a ready module: ORC (a compiler's CFI doesn't know
 * where a kernel switches stacks), compact table, else CFI.
 * Return 0, -OW_ENOENT if none covers it, -OW_EFORMAT, -OW_EUNSUPPORTED, or
 * -OW_ELIMIT if it would run more of the instructions of large FDEs, in bytes, than
 * *target->cfi_left; what it runs is taken from that, as are rules that are saved and
 * restored, where those are many, and operations of expressions (expr.h).  Where cfi_left
 * is NULL, there is no such limit.
 */
int ow_find_row(struct ow_finder *f, const struct ow_target *target,
		const struct ow_module *module, uint64_t addr,
		struct ow_row *row);

/* What the two halves of that return beside the row and errors. */
enum {
	OW_FIND_ROW = 0,
	OW_FIND_BRIEF, /* *brief is made, but for addr and generation; no row */
	OW_FIND_FULL,  /* the module has more that must be asked */
};

/*
 * The two halves: what ORC or the table has; and then what the module's CFI says
 * of the same addr, or else what came with the table.  The row is f->row; it is
 * put in brief if it can be and isn't OW_ROW_LAST, unless brief is NULL.
 */
int ow_find_ready_row(struct ow_finder *f, const struct ow_module *module,
		      uint64_t addr, struct ow_brief *brief);
int ow_find_full_row(struct ow_finder *f, const struct ow_target *target,
		     const struct ow_module *module);

/*
 * The row for a vaddr that f->fde, which the caller has filled, covers.  how is
 * what the row was found by.  Return as ow_find_row().
 */
int ow_find_fde_row(struct ow_finder *f, uint64_t vaddr, uint8_t how,
		    struct ow_row *row);

#endif /* OW_FIND_H */
