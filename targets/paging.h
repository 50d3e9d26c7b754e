/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * From a guest's virtual addresses to its physical ones, in all ways that its
 * processor may have been told to.  Where the guest is a paravirtual one of
 * Xen's, "physical" is the machine's, as its tables have it.
 */
#ifndef OW_PAGING_H
#define OW_PAGING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whoever has a guest's physical memory embeds this. */
struct ow_physmem {
	/*
	 * size bytes at a physical address, none of them across a boundary of
	 * 4 KiB; NULL if they are not at hand.
	 */
	const uint8_t *(*at)(const struct ow_physmem *mem, uint64_t addr,
			     size_t size);
};

enum ow_paging_format {
	OW_PAGING_OFF,       /* an address is a physical one */
	OW_PAGING_X86_64,    /* Intel SDM 3A, 4.5: four or five levels */
	OW_PAGING_X86_PAE,   /* 4.4 */
	OW_PAGING_X86_32,    /* 4.3 */
	OW_PAGING_ARM_LONG,  /* Arm ARM D8.3; of AArch32, G5.5 */
	OW_PAGING_ARM_SHORT, /* G5.4 */
	OW_NR_PAGINGS
};

/* The tables of one half of the addresses. */
struct ow_paging_half {
	uint64_t root;  /* physical addr of the top table */
	uint8_t levels; /* 0: nothing is mapped in this half */
	uint8_t bits;   /* of an address that the tables look at; 0: no half */
};

struct ow_paging {
	uint8_t format;   /* enum ow_paging_format */
	uint8_t granule;  /* log2 of a page's size; 0: 12 */
	bool is_32;       /* addrs have 32 bits */
	bool ignores_top; /* the uppermost byte of an addr may be anything */
	struct ow_paging_half low, high;
};

enum ow_paging_result {
	OW_PAGING_MAPPED,
	OW_PAGING_ABSENT,  /* the guest has nothing there */
	OW_PAGING_MISSING, /* a table is not at hand */
};

/*
 * Translate an address.  *ret is its physical address and *run_ret how many
 * bytes from there on are mapped in a row.
 */
enum ow_paging_result ow_paging_find(const struct ow_paging *p,
				     const struct ow_physmem *mem,
				     uint64_t addr, uint64_t *ret,
				     uint64_t *run_ret);

/* Paging as an x86 processor's registers tell: CR0, CR3, CR4 and EFER. */
struct ow_paging ow_paging_x86(uint64_t cr0, uint64_t cr3, uint64_t cr4,
			       uint64_t efer);

/* Of AArch64: SCTLR_EL1, TCR_EL1, TTBR0_EL1, TTBR1_EL1. */
struct ow_paging ow_paging_aarch64(uint64_t sctlr, uint64_t tcr, uint64_t ttbr0,
				   uint64_t ttbr1);

/* Of AArch32: SCTLR, TTBCR, TTBR0, TTBR1. */
struct ow_paging ow_paging_arm(uint64_t sctlr, uint64_t ttbcr, uint64_t ttbr0,
			       uint64_t ttbr1);

#endif /* OW_PAGING_H */
