/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The call frame instructions of DWARF 5, section 6.4.2. */
#ifndef OW_CFA_H
#define OW_CFA_H

#include "brief.h"
#include "cie.h"
#include "cursor.h"

/* What is known of every register at one place. */
struct ow_cfa_state {
	struct ow_rule cfa;
	int32_t cfa_off; /* of the register rule, also under an expression */
	uint64_t said;   /* bit n: reg[n] is valid, else nothing is said */
	struct ow_rule reg[OW_MAX_REGS]; /* by slot */
};

#define OW_CFA_DEPTH 8 /* of DW_CFA_remember_state */

/* The machine.  The caller owns it; it is too big for a kernel stack. */
struct ow_cfa {
	const struct ow_cie *cie;
	struct ow_cursor insns;
	uint64_t start; /* the current row covers vaddrs [start, next) */
	uint64_t next;
	uint64_t end; /* of the FDE */
	struct ow_cfa_state state;
	struct ow_cfa_state initial; /* after the CIE's instructions */
	struct ow_cfa_state saved[OW_CFA_DEPTH];
	unsigned int nr_saved;
	uint64_t nr_copied; /* rules, by instructions that save or restore all */
};

/*
 * Begin with an FDE that covers vaddrs [start, end) and has these instructions:
 * runs the CIE's.  The bytes are borrowed until the last ow_cfa_next().
 * Return 0, -OW_EFORMAT or -OW_EUNSUPPORTED.
 */
int ow_cfa_begin(struct ow_cfa *cfa, const struct ow_cie *cie,
		 struct ow_cursor insns, uint64_t start, uint64_t end);

/* The same where cfa->initial is known to be what the CIE's instructions make. */
void ow_cfa_begin_again(struct ow_cfa *cfa, const struct ow_cie *cie,
			struct ow_cursor insns, uint64_t start, uint64_t end);

/* *to becomes as *from, but for registers that nothing is said of; return of how many is. */
unsigned int ow_cfa_copy_state(struct ow_cfa_state *to,
			       const struct ow_cfa_state *from);

/*
 * Complete the next row.  Return 1 if there is one, 0 after the last,
 * -OW_EFORMAT or -OW_EUNSUPPORTED.
 */
int ow_cfa_next(struct ow_cfa *cfa);

/*
 * Complete the row that covers vaddr, which must not lie before the next row.
 * Return 0; -OW_ENOENT if no row that is left covers it; -OW_EFORMAT or
 * -OW_EUNSUPPORTED.
 */
int ow_cfa_seek(struct ow_cfa *cfa, uint64_t vaddr);

/*
 * The completed row, packed.  rules holds OW_MAX_REGS and must live as long as
 * the row.
 */
void ow_cfa_row(const struct ow_cfa *cfa, struct ow_row *row,
		struct ow_rule *rules);

/*
 * The same in brief, but for addr and generation; false if it can't be.  how is
 * what it was found by.
 */
bool ow_cfa_brief(const struct ow_cfa *cfa, uint8_t how, struct ow_brief *b);

#endif /* OW_CFA_H */
