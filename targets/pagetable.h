/* SPDX-License-Identifier: BSD-2-Clause */
/* From a guest's virtual addresses to what a dump has of its memory. */
#ifndef OW_PAGETABLE_H
#define OW_PAGETABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "paging.h"

/* A run of physical memory. */
struct ow_physical {
	uint64_t start, size;
	const uint8_t *bytes; /* borrowed */
};

/*
 * Page tables of 4 KiB pages: of x86-64 (Intel SDM 3A, 4.5) or AArch64 (Arm
 * ARM, D8.3, 4 KiB granule).
 */
struct ow_pagetable {
	const struct ow_physical *memory; /* sorted by start, none overlapping */
	size_t nr;
	uint64_t root;  /* physical addr of the top table */
	uint8_t levels; /* 3 to 5 */
	bool is_aarch64;
};

/* size bytes of physical memory, or NULL if they are not in one run. */
const uint8_t *ow_pagetable_physical(const struct ow_pagetable *t,
				     uint64_t addr, uint64_t size);

/*
 * Copy size bytes at a virtual address of the upper half, the kernel's.
 * False if any is not mapped or not in the dump.
 */
bool ow_pagetable_read(const struct ow_pagetable *t, uint64_t addr, void *buf,
		       size_t size);

#endif /* OW_PAGETABLE_H */
