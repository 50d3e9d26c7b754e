/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Rows that a compact table leaves out, checked and looked up (uapi/ow_rare.h). */
#ifndef OW_RARE_H
#define OW_RARE_H

#include "ow_rare.h"

#include "arch.h"
#include "row.h"

/* Such rows, whose head has been checked, by pointers into their bytes. */
struct ow_rare {
	const struct ow_arch *arch;
	uint64_t base; /* of the table that they belong to */
	uint32_t nr_rows, nr_rules, exprs_size;
	const struct ow_rare_row *rows;
	const struct ow_rare_rule *rules;
	const uint8_t *exprs;
};

/*
 * Take size bytes, aligned to 4, which stay where they are and as they are: their
 * parts fill them exactly.  Return 0 or -OW_EFORMAT.
 */
int ow_rare_open(struct ow_rare *r, const struct ow_arch *arch, uint64_t base,
		 const uint8_t *bytes, uint64_t size);

/*
 * Check up to max rows from *at on, which begins as 0, with their rules and
 * expressions.  Return 1 while there may be more; 0 at last: then every row can be
 * executed, in bounded time; or -OW_EFORMAT.  None is to be looked up before.
 */
int ow_rare_verify(const struct ow_rare *r, uint32_t *at, uint32_t max);

/*
 * Is that an expression that may stand here?  Return the number of its
 * operations, or 0.
 */
unsigned int ow_rare_ops(const struct ow_arch *arch, const uint8_t *code,
			 uint64_t size);

/*
 * The row that covers vaddr; rules holds OW_MAX_REGS.  Return 0, or
 * -OW_EUNSUPPORTED: none of them does.
 */
int ow_rare_find(const struct ow_rare *r, uint64_t vaddr, struct ow_row *row,
		 struct ow_rule *rules);

#endif /* OW_RARE_H */
