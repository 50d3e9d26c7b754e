/* SPDX-License-Identifier: BSD-2-Clause */
/* Symbols of a .symtab or .dynsym, out of untrusted bytes.  (gABI 4.1) */
#ifndef OW_ELFSYM_H
#define OW_ELFSYM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elf.h"

enum {
	OW_SHT_SYMTAB = 2,
	OW_SHT_DYNSYM = 11,

	OW_SHF_EXECINSTR = 4,

	OW_STT_NOTYPE = 0,
	OW_STT_FUNC = 2,
	OW_STT_GNU_IFUNC = 10,

	OW_STB_LOCAL = 0,
	OW_STB_WEAK = 2,
};

/* A symbol table and its strings; borrowed from the bytes of the object. */
struct ow_elfsyms {
	const uint8_t *syms;
	size_t nr;
	const char *names; /* the last byte is NUL */
	size_t names_size;
	bool is_64;
};

struct ow_elfsym {
	const char *name;
	uint64_t value, size;
	uint8_t type, bind;
	uint16_t section; /* index; 0: undefined */
};

/* The bytes of a section, or NULL if the file doesn't have all of them. */
const uint8_t *ow_elfsym_section(const struct ow_elf *elf,
				 const struct ow_elf_section *sec);

/*
 * The table of that section type.  Without section headers .dynsym is found
 * by PT_DYNAMIC.  False if there is none.
 */
bool ow_elfsyms_init(struct ow_elfsyms *t, const struct ow_elf *elf,
		     uint32_t type);

/* Symbol i; false if there is no such, or its name is not in the strings. */
bool ow_elfsyms_get(const struct ow_elfsyms *t, size_t i,
		    struct ow_elfsym *ret);

#endif /* OW_ELFSYM_H */
