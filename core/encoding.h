/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The pointer encodings of .eh_frame (LSB 5.0 Core, 10.5.1, DW_EH_PE_*). */
#ifndef OW_ENCODING_H
#define OW_ENCODING_H

#include "cursor.h"

struct ow_memory;

enum {
	OW_PE_ABSPTR = 0x00,
	OW_PE_ULEB128 = 0x01,
	OW_PE_UDATA2 = 0x02,
	OW_PE_UDATA4 = 0x03,
	OW_PE_UDATA8 = 0x04,
	OW_PE_SLEB128 = 0x09,
	OW_PE_SDATA2 = 0x0a,
	OW_PE_SDATA4 = 0x0b,
	OW_PE_SDATA8 = 0x0c,
	OW_PE_FORMAT = 0x0f,

	OW_PE_PCREL = 0x10,
	OW_PE_TEXTREL = 0x20,
	OW_PE_DATAREL = 0x30,
	OW_PE_FUNCREL = 0x40,
	OW_PE_ALIGNED = 0x50,
	OW_PE_BASE = 0x70,

	OW_PE_INDIRECT = 0x80,
	OW_PE_OMIT = 0xff,
};

struct ow_encoding {
	uint8_t enc;
	uint8_t word;   /* bytes of an address */
	uint64_t field; /* vaddr of the field to be read, for pcrel, aligned */
	uint64_t text, data, func; /* vaddrs that the other bases stand for */
	uint64_t bias; /* addr - vaddr, where an indirect pointer is followed */
};

/* Bytes of a fixed-size format, 0 for LEB128 and for what is no format. */
unsigned int ow_encoding_size(uint8_t enc, uint8_t word);

/*
 * Read an encoded pointer; a vaddr as a rule.  An indirect one is followed
 * through mem.  What can't be read marks the cursor bad.
 */
uint64_t ow_encoding_read(const struct ow_encoding *e, struct ow_cursor *c,
			  const struct ow_memory *mem);

#endif /* OW_ENCODING_H */
