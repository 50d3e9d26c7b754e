/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Call frame information as it lies in an object: .eh_frame (LSB 5.0 Core,
 * 10.6), .eh_frame_hdr (10.6.2) and .debug_frame (DWARF 5, 6.4.1).
 *
 * All addresses here are vaddrs, as linked; whoever looks up a pc takes the
 * bias off first.
 */
#ifndef OW_CFI_H
#define OW_CFI_H

#include "cfa.h"

struct ow_memory;

struct ow_section {
	const uint8_t *bytes; /* borrowed; NULL where there is none */
	uint64_t size;
	uint64_t vaddr;
};

/* An FDE in an index: sorted by start. */
struct ow_fde_ref {
	uint64_t start; /* vaddr */
	uint64_t off;   /* in its section */
};

struct ow_fde_index {
	const struct ow_fde_ref *refs;
	size_t nr;
};

/*
 * The CIE that was read last: most FDEs of an object have the same.  All zero at
 * first, and again when bytes may have changed.
 */
struct ow_cie_memo {
	const uint8_t *entry; /* where it begins: no two begin at one place */
	struct ow_cie cie;
};

/* A CIE that was read beforehand, and what its instructions make. */
struct ow_known_cie {
	struct ow_cie_memo memo;
	struct ow_cfa_state initial;
};

struct ow_cfi {
	const struct ow_arch *arch;
	struct ow_section eh_frame;
	struct ow_section hdr; /* .eh_frame_hdr */
	struct ow_section debug_frame;
	/* For what hdr doesn't list; hosted code makes them. */
	struct ow_fde_index eh_index;
	struct ow_fde_index debug_index;
	uint64_t text, data; /* vaddrs for DW_EH_PE_textrel, _datarel */

	/* .eh_frame_hdr, decoded by ow_cfi_set_hdr() */
	const uint8_t *hdr_table; /* NULL: none that can be searched */
	uint64_t hdr_nr;
	uint8_t hdr_enc;

	/* .eh_frame's first CIE, which most FDEs have, or NULL.  Hosted code may
	   make it. */
	const struct ow_known_cie *known;
};

struct ow_fde {
	uint64_t start, end;      /* vaddrs */
	uint64_t off;             /* of the entry in its section */
	const uint8_t *cie_entry; /* where the CIE begins */
	struct ow_cie cie;
	struct ow_cursor data; /* augmentation data; empty if there is none */
	struct ow_cursor insns;
};

/* Where an iteration or a look-up gets indirect pointers from. */
struct ow_cfi_env {
	const struct ow_memory *mem; /* may be NULL */
	uint64_t bias;
	struct ow_cie_memo *memo; /* may be NULL */
};

/*
 * Take hdr's bytes as .eh_frame_hdr.  Return 0 and in *eh_frame_ret the vaddr
 * of .eh_frame; -OW_EFORMAT or -OW_EUNSUPPORTED if it is none.  A header whose
 * table can't be searched is no error, and hdr_table stays NULL.
 */
int ow_cfi_set_hdr(struct ow_cfi *cfi, const struct ow_section *hdr,
		   uint64_t *eh_frame_ret);

/*
 * Read .eh_frame's first CIE and run its instructions, with cfa as scratch.
 * False: it has none, or one that is refused.
 */
bool ow_cfi_know_cie(const struct ow_cfi *cfi, struct ow_cfa *cfa,
		     struct ow_known_cie *ret);

/*
 * Where in .eh_frame the search table has the FDE that covers vaddr, if one
 * does.  Return 0, or -OW_ENOENT if none can.
 */
int ow_cfi_search_hdr(const struct ow_cfi *cfi, uint64_t vaddr,
		      uint64_t *off_ret);

/*
 * What the search table's pair i, of hdr_nr, says: where in .eh_frame its FDE is,
 * and the vaddr that this starts at.
 */
uint64_t ow_cfi_hdr_off(const struct ow_cfi *cfi, uint64_t i);
uint64_t ow_cfi_hdr_start(const struct ow_cfi *cfi, uint64_t i);

/*
 * The entry at *off of a section (eh_frame, or debug_frame if is_debug); *off
 * moves to the next one.  Return 1 for an FDE, 2 for a CIE, 0 at the end, or
 * an error, with *off at the next entry if it can be known, else at the end;
 * *ret is whole where an FDE is returned.
 */
int ow_cfi_entry(const struct ow_cfi *cfi, const struct ow_cfi_env *env,
		 bool is_debug, uint64_t *off, struct ow_fde *ret);

/* The same, with no look at what the entry holds. */
int ow_cfi_skip(const struct ow_cfi *cfi, bool is_debug, uint64_t *off);

/*
 * The FDE that covers vaddr, and by which section (OW_HOW_CFI or
 * OW_HOW_DEBUG).  Return 0, -OW_ENOENT, or what its bytes deserve.
 */
int ow_cfi_find(const struct ow_cfi *cfi, const struct ow_cfi_env *env,
		uint64_t vaddr, struct ow_fde *ret, uint8_t *how_ret);

#endif /* OW_CFI_H */
