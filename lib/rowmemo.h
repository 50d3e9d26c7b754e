/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What was found for rows before, whatever their CFA's offset: most rows of a
 * function, and of its neighbours, save the same registers in the same places.
 */
#ifndef OW_ROWMEMO_H
#define OW_ROWMEMO_H

#include "cfa.h"

#define OW_ROWMEMO_SLOTS 64 /* a power of two */
#define OW_ROWMEMO_WORDS 64

/* All zero is empty. */
struct ow_rowmemo {
	struct ow_rowmemo_entry {
		bool used;
		bool signal_frame;
		uint8_t ra, cfa_reg;
		uint32_t value;
		uint64_t said;
		struct ow_rule reg[OW_MAX_REGS];
		/* The user's: by the CFA's offset in words; 0 is none. */
		uint16_t rules[OW_ROWMEMO_WORDS];
	} all[OW_ROWMEMO_SLOTS];

	struct ow_rowmemo_entry *last; /* looked for, and put if it wasn't
					  there */
};

/* What was put for a row like the one that the machine, whose CFA is a register
   plus an offset, stands at. */
bool ow_rowmemo_get(struct ow_rowmemo *m, const struct ow_cfa *cfa,
		    uint32_t *ret);

/* Keep a value for the row that was looked for last, and wasn't there. */
void ow_rowmemo_put(struct ow_rowmemo *m, const struct ow_cfa *cfa,
		    uint32_t value);

#endif /* OW_ROWMEMO_H */
