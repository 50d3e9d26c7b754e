/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The unwind data that Linux makes for itself on x86-64: a sorted table of
 * where code begins that has the same row, and the rows.  (Linux,
 * arch/x86/include/asm/orc_types.h, Documentation/x86/orc-unwinder.rst)
 */
#ifndef OW_ORC_H
#define OW_ORC_H

#include "row.h"

#define OW_ORC_EXPR 7 /* bytes of an expression that a row may need */

struct ow_orc {
	const uint8_t *ips; /* .orc_unwind_ip; borrowed */
	uint64_t ips_vaddr;
	const uint8_t *entries; /* .orc_unwind; borrowed */
	size_t nr;
	bool has_signal; /* entries are as they are since Linux 6.3 */
};

/*
 * The row for a vaddr, which borrows rules, with room for OW_MAX_REGS, and
 * expr.  Return 0, -OW_ENOENT if the kernel doesn't know how to go on either, or
 * -OW_EFORMAT.
 */
int ow_orc_row(const struct ow_orc *orc, uint64_t vaddr, struct ow_row *row,
	       struct ow_rule *rules, uint8_t expr[OW_ORC_EXPR]);

#endif /* OW_ORC_H */
