/* SPDX-License-Identifier: BSD-2-Clause */
/* Symbols of a .symtab or .dynsym, out of untrusted bytes.  (gABI 4.1) */
#ifndef OW_ELFSYM_H
#define OW_ELFSYM_H

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "elf.h"

enum {
	OW_SYM64_SIZE = 24,
	OW_SYM32_SIZE = 16,

	OW_SHT_SYMTAB = 2,
	OW_SHT_DYNSYM = 11,

	OW_SHF_EXECINSTR = 4,

	OW_STT_NOTYPE = 0,
	OW_STT_FUNC = 2,
	OW_STT_GNU_IFUNC = 10,

	OW_STB_LOCAL = 0,
	OW_STB_WEAK = 2,
};

/*
 * A symbol table and its strings; borrowed from the bytes of the object.  Who may write to
 * its file may write over the last NUL, too: a text has an end behind the file then
 * (filemap.h), and is copied before anything relies on where.
 */
struct ow_elfsyms {
	const uint8_t *syms;
	size_t nr;
	const char *names; /* the last byte was NUL */
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

/* The bytes of all symbols. */
static inline uint64_t ow_elfsyms_size(const struct ow_elfsyms *t)
{
	return t->nr * (t->is_64 ? OW_SYM64_SIZE : OW_SYM32_SIZE);
}

static inline uint64_t ow_elfsym_word(const uint8_t *at, size_t size)
{
	uint64_t v64 = 0;

	memcpy(&v64, at, size);
	ow_keep(v64);
	return le64toh(v64);
}

/*
 * Symbol i but for its name; i is below t->nr.  Inline and not by a cursor: an
 * object may have 10^6 symbols, and what is read of i is in bounds.
 */
static inline void ow_elfsyms_place(const struct ow_elfsyms *t, size_t i,
				    struct ow_elfsym *ret)
{
	const uint8_t *at =
		t->syms + i * (t->is_64 ? OW_SYM64_SIZE : OW_SYM32_SIZE);
	uint8_t info;

	if (t->is_64) {
		info = at[4];
		ret->section = ow_elfsym_word(at + 6, 2);
		ret->value = ow_elfsym_word(at + 8, 8);
		ret->size = ow_elfsym_word(at + 16, 8);
	} else {
		ret->value = ow_elfsym_word(at + 4, 4);
		ret->size = ow_elfsym_word(at + 8, 4);
		info = at[12];
		ret->section = ow_elfsym_word(at + 14, 2);
	}
	ret->type = info & 0xf;
	ret->bind = info >> 4;
}

/* Symbol i; false if there is no such, or its name is not in the strings. */
static inline bool ow_elfsyms_get(const struct ow_elfsyms *t, size_t i,
				  struct ow_elfsym *ret)
{
	size_t each = t->is_64 ? OW_SYM64_SIZE : OW_SYM32_SIZE;
	uint32_t name;

	if (i >= t->nr)
		return false;
	name = ow_elfsym_word(t->syms + i * each, 4);
	if (name >= t->names_size)
		return false;
	ret->name = t->names + name;
	ow_elfsyms_place(t, i, ret);
	return true;
}

/*
 * The value of the first symbol of that name in .symtab; false: there is none among
 * the first 4,194,304, of which a kernel has a quarter of a million.
 */
bool ow_elfsym_value(const struct ow_elf *elf, const char *name, uint64_t *ret);

#endif /* OW_ELFSYM_H */
