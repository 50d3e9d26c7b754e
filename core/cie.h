/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A Common Information Entry (DWARF 5, 6.4.1), read. */
#ifndef OW_CIE_H
#define OW_CIE_H

#include "arch.h"

struct ow_cie {
	const struct ow_arch *arch;
	uint64_t code_align;
	int64_t data_align;
	uint8_t ra;        /* slot */
	uint8_t fde_enc;   /* DW_EH_PE_* of the FDEs' addresses */
	bool has_aug_data; /* 'z': FDEs have augmentation data too */
	bool signal_frame;
	uint8_t lsda_enc, handler_enc; /* DW_EH_PE_omit: there is none */
	const uint8_t *handler;        /* where the personality's address is */
	const uint8_t *insns;          /* initial instructions */
	const uint8_t *insns_end;
	/* What expressions' offsets are from: the section of the CIE. */
	const uint8_t *section;
	uint64_t section_size;
	uint64_t section_vaddr;
	uint64_t text, data; /* see struct ow_cfi; for DW_CFA_set_loc */
};

#endif /* OW_CIE_H */
