/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* One frame up: a row, registers and memory give the caller's registers. */
#ifndef OW_STEP_H
#define OW_STEP_H

#include "cache.h"
#include "expr.h"
#include "target.h"

#define OW_STEP_CODE 16

/* What a step needs beside the row; the caller owns it and reuses it. */
struct ow_step {
	const struct ow_target *target;
	struct ow_window stack; /* size 0: none */
	uint64_t pc_mask;       /* bits of a code address */
	uint64_t fault;         /* after -OW_EFAULT: the address */
	uint64_t vals[OW_MAX_REGS];
	struct ow_expr expr;
	/* What would be on the stack else, for as long as a call takes. */
	uint64_t cfa, word;
	uint8_t code[OW_STEP_CODE]; /* that may be a trampoline's */
	struct ow_row row;          /* of a trampoline that a guess led to */
};

/* A word of the stack, if its window has it. */
bool ow_step_peek(const struct ow_step *s, uint64_t addr, uint64_t *ret);

/* A word of the target, from the window if it is there; 0 or -OW_EFAULT. */
int ow_step_word(struct ow_step *s, uint64_t addr, uint64_t *ret);

/*
 * Replace regs by the caller's.  Registers that the row doesn't speak of stay
 * if a callee saves them, and become unknown if not; those whose saved value
 * can't be told or read become unknown, too, but the return address and sp have
 * to be there.  Return 0, or -OW_EFAULT, -OW_EUNKNOWN, -OW_EFORMAT,
 * -OW_EUNSUPPORTED or -OW_ELIMIT: then regs are unchanged.
 */
int ow_step(struct ow_step *s, const struct ow_row *row, struct ow_regs *regs);

#endif /* OW_STEP_H */
