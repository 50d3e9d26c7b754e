/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What is being unwound: memory and a module map. */
#ifndef OW_TARGET_H
#define OW_TARGET_H

#include "memory.h"
#include "module.h"

/*
 * Embedded by whoever knows how to read one kind of thing.  It does not change
 * while a walk is under way, but that a module becomes ready.
 */
struct ow_target {
	struct ow_memory mem;
	const struct ow_arch *arch;
	struct ow_map map;
	uint64_t pc_mask; /* bits of a code address; 0: the architecture's */
	bool keeps_fp;    /* all code that calls keeps a frame pointer */
	bool no_fallback; /* by unwind data, and by nothing else */
	bool has_gaps;    /* code may be where the map has none */
	uint64_t kernel_start; /* of a kernel: programs' code is below; or 0 */
	uint64_t *cfi_left;    /* what CFI may still run; see ow_find_row() */
};

/*
 * Bytes of the target that lie in our memory already, a thread's stack as a
 * rule.  Reads inside it don't call the target's read().
 */
struct ow_window {
	uint64_t start;
	uint64_t size;
	const uint8_t *bytes;
};

#endif /* OW_TARGET_H */
