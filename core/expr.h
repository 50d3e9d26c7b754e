/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* DWARF expressions, as call frame information uses them (DWARF 5, 2.5). */
#ifndef OW_EXPR_H
#define OW_EXPR_H

#include "arch.h"
#include "memory.h"
#include "regs.h"

#define OW_EXPR_DEPTH 64
#define OW_EXPR_STEPS 4096 /* operations run, so that no loop is endless */

/*
 * Expressions run anew for each frame, and may read from any place.  A row that
 * compilers or people have written needs about twenty operations and one read in all
 * of its expressions.  What the expressions of a row run beyond a few operations is
 * taken from what the walk may run, and the run.
 */
#define OW_EXPR_FEW  64
#define OW_EXPR_LEFT 32768
#define OW_EXPR_READ 24 /* operations that a read counts as, beside its own */

/*
 * Where a page is missing, a kernel takes a fault to see so.  A row can leave registers
 * unknown that way and lead on; but that many operations more are taken for each.
 */
#define OW_EXPR_FAULT 256

/* The machine.  The caller owns it; reused without being cleared. */
struct ow_expr {
	const struct ow_arch *arch;
	const struct ow_regs *regs;
	const struct ow_memory *mem;
	uint64_t cfa; /* DW_OP_call_frame_cfa */
	bool has_cfa;
	uint64_t bias;      /* DW_OP_addr holds a vaddr */
	uint64_t fault;     /* after -OW_EFAULT: the address */
	uint32_t few;       /* operations that may be run of the row, then */
	uint32_t left;      /* of the walk, */
	uint64_t *run_left; /* and of the run; NULL: any number */
	unsigned int depth;
	uint64_t stack[OW_EXPR_DEPTH];
};

/*
 * Run the size bytes at code and return 0 and the top of the stack.  push says
 * whether the stack begins with the CFA, as it does for a register's rule
 * (DWARF 5, 6.4.2.3), in which case has_cfa is set.
 * -OW_EFORMAT for nonsense, -OW_EUNSUPPORTED for operations that have no
 * meaning here (entry_value, types, TLS), -OW_EFAULT, -OW_EUNKNOWN,
 * -OW_ELIMIT.  Operations are taken from x->few, and when that is used up from x->left
 * and *x->run_left.
 */
int ow_expr_run(struct ow_expr *x, const uint8_t *code, uint64_t size,
		bool push, uint64_t *ret);

/* Take nr operations as it does; return false if there are not so many. */
bool ow_expr_take(struct ow_expr *x, uint32_t nr);

#endif /* OW_EXPR_H */
