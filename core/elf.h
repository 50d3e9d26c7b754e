/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * ELF headers, segments, sections and notes out of untrusted bytes.  Both
 * classes, little-endian.  (gABI 4.1; Linux include/uapi/linux/elf.h)
 */
#ifndef OW_ELF_H
#define OW_ELF_H

#include "cursor.h"

struct ow_arch;

enum {
	OW_PT_LOAD = 1,
	OW_PT_DYNAMIC = 2,
	OW_PT_NOTE = 4,
	OW_PT_GNU_EH_FRAME = 0x6474e550,

	OW_PF_X = 1,
	OW_PF_W = 2,

	OW_SHT_NOBITS = 8,
	OW_SHF_COMPRESSED = 0x800,

	OW_ET_EXEC = 2,
	OW_ET_DYN = 3,
	OW_ET_CORE = 4,

	OW_NT_GNU_BUILD_ID = 3,
};

struct ow_elf {
	const uint8_t *bytes; /* borrowed */
	uint64_t size;
	const struct ow_arch *arch;
	bool is_64;
	uint16_t type; /* ET_* */
	uint64_t phoff, shoff;
	uint32_t phnum, shnum, shstrndx; /* with extended numbering undone */
	uint64_t names_off, names_size;  /* of the section names; within size */
	uint64_t entry;
};

struct ow_elf_segment {
	uint32_t type, flags;
	uint64_t off, vaddr, paddr, filesz, memsz;
};

struct ow_elf_section {
	uint32_t name; /* offset in the section name table */
	uint32_t type, link;
	uint64_t flags, vaddr, off, size;
};

struct ow_elf_note {
	uint32_t type;
	const char *name; /* not terminated */
	uint32_t name_size;
	const uint8_t *desc;
	uint32_t desc_size;
};

/*
 * Read the file header.  Section headers may be absent or beyond the end (an
 * image from memory, a truncated core): then shnum is 0.
 * Return 0, -OW_EFORMAT, or -OW_EUNSUPPORTED for a machine or byte order that
 * outwind doesn't know.
 */
int ow_elf_parse(struct ow_elf *elf, const uint8_t *bytes, uint64_t size);

/* Header number i; false past the end of the headers or of the bytes. */
bool ow_elf_segment(const struct ow_elf *elf, uint32_t i,
		    struct ow_elf_segment *ret);
bool ow_elf_section(const struct ow_elf *elf, uint32_t i,
		    struct ow_elf_section *ret);

/* The i-th byte of the section's name; 0 behind the end of all names. */
static inline char ow_elf_section_char(const struct ow_elf *elf,
				       const struct ow_elf_section *sec,
				       uint32_t i)
{
	uint64_t at = (uint64_t)sec->name + i;

	return at < elf->names_size ? (char)elf->bytes[elf->names_off + at] : 0;
}

/* Does the section have that name? */
bool ow_elf_section_is(const struct ow_elf *elf,
		       const struct ow_elf_section *sec, const char *name);

/*
 * The bytes that the file has for a virtual address, by its PT_LOADs, and in
 * *size_ret how many follow in that segment; NULL if it has none.
 */
const uint8_t *ow_elf_at(const struct ow_elf *elf, uint64_t vaddr,
			 uint64_t *size_ret);

/* The next note, or false at the end; c is over a PT_NOTE segment's bytes. */
bool ow_elf_note(struct ow_cursor *c, struct ow_elf_note *ret);

/* The GNU build-id's bytes and size, or NULL. */
const uint8_t *ow_elf_build_id(const struct ow_elf *elf, size_t *size_ret);

#endif /* OW_ELF_H */
