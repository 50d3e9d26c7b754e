// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#include "elf.h"

#include "arch.h"
#include "err.h"

enum {
	EHDR64_SIZE = 64,
	EHDR32_SIZE = 52,
	PHDR64_SIZE = 56,
	PHDR32_SIZE = 32,
	SHDR64_SIZE = 64,
	SHDR32_SIZE = 40,
	PN_XNUM = 0xffff,
	SHN_XINDEX = 0xffff,
};

/*
 * What any user can write takes no longer to look through than this.  Objects
 * have some dozen sections; one for each function of a large source makes a few
 * ten thousand.
 */
enum {
	MOST_SECTIONS = 1 << 18,
	MOST_SEGMENTS = 4096, /* but of a core: who opens that has a limit */
	MOST_NOTES = 4096,    /* looked at for a build-id, in all segments */
};

/* size bytes at off of the file, or an empty cursor that is bad. */
static struct ow_cursor bytes_at(const struct ow_elf *elf, uint64_t off,
				 uint64_t size)
{
	if (off > elf->size || size > elf->size - off)
		return (struct ow_cursor){ NULL, NULL, true };
	return (struct ow_cursor){ elf->bytes + off, elf->bytes + off + size,
				   false };
}

/* The i-th header of a table whose headers have that size, or NULL. */
static const uint8_t *header_at(const struct ow_elf *elf, uint64_t table,
				uint32_t i, uint32_t size)
{
	uint64_t off = table + (uint64_t)i * size;

	return off < table || off > elf->size || size > elf->size - off ?
		       NULL :
		       elf->bytes + off;
}

static uint32_t four_at(const uint8_t *at)
{
	return (uint32_t)ow_little_endian(at, 4);
}

/* The i-th of the words, of the ELF class's size, that stand there. */
static uint64_t word_at(const struct ow_elf *elf, const uint8_t *at,
			unsigned int i)
{
	return elf->is_64 ? ow_little_endian(at + 8 * i, 8) :
			    ow_little_endian(at + 4 * i, 4);
}

bool ow_elf_segment(const struct ow_elf *elf, uint32_t i,
		    struct ow_elf_segment *ret)
{
	uint32_t size = elf->is_64 ? PHDR64_SIZE : PHDR32_SIZE;
	const uint8_t *at;

	at = i < elf->phnum ? header_at(elf, elf->phoff, i, size) : NULL;
	if (!at)
		return false;
	*ret = (struct ow_elf_segment){
		.type = four_at(at),
		.flags = four_at(at + (elf->is_64 ? 4 : 24)),
		.off = word_at(elf, at, 1),
		.vaddr = word_at(elf, at, 2),
		.paddr = word_at(elf, at, 3),
		.filesz = word_at(elf, at, 4),
		.memsz = word_at(elf, at, 5),
	};
	return true;
}

bool ow_elf_section(const struct ow_elf *elf, uint32_t i,
		    struct ow_elf_section *ret)
{
	uint32_t size = elf->is_64 ? SHDR64_SIZE : SHDR32_SIZE;
	const uint8_t *at;

	at = i < elf->shnum ? header_at(elf, elf->shoff, i, size) : NULL;
	if (!at)
		return false;
	*ret = (struct ow_elf_section){
		.name = four_at(at),
		.type = four_at(at + 4),
		.flags = word_at(elf, at + 8, 0),
		.vaddr = word_at(elf, at + 8, 1),
		.off = word_at(elf, at + 8, 2),
		.size = word_at(elf, at + 8, 3),
		.link = four_at(at + 8 + (elf->is_64 ? 32 : 16)),
	};
	return true;
}

bool ow_elf_section_is(const struct ow_elf *elf,
		       const struct ow_elf_section *sec, const char *name)
{
	const uint8_t *at = elf->bytes + elf->names_off;
	uint64_t i;

	for (i = sec->name; i < elf->names_size; i++, name++) {
		if (at[i] != (uint8_t)*name)
			return false;
		if (*name == '\0')
			return true;
	}
	return false;
}

/* Counts that don't fit the file header stand in section header 0. */
static void undo_extended_numbering(struct ow_elf *elf)
{
	struct ow_elf_section zero;
	uint32_t shnum = elf->shnum;

	/* Section 0 stands at shoff, if there are sections at all. */
	elf->shnum = elf->shoff != 0;
	if (!ow_elf_section(elf, 0, &zero)) {
		elf->shnum = 0;
		return;
	}
	elf->shnum = shnum                  ? shnum :
		     zero.size < 0xffffffff ? (uint32_t)zero.size :
					      0;
	if (elf->shnum > MOST_SECTIONS)
		elf->shnum = MOST_SECTIONS;
	if (elf->shstrndx == SHN_XINDEX)
		elf->shstrndx = zero.link;
	if (elf->phnum == PN_XNUM) {
		/* sh_info of section 0 follows its sh_link */
		size_t size = elf->is_64 ? SHDR64_SIZE : SHDR32_SIZE;
		struct ow_cursor c = bytes_at(elf, elf->shoff, size);

		ow_cursor_skip(&c, elf->is_64 ? 44 : 28);
		elf->phnum = ow_cursor_uint(&c, 4);
	}
}

static void find_names(struct ow_elf *elf)
{
	struct ow_elf_section names;

	if (!ow_elf_section(elf, elf->shstrndx, &names) ||
	    names.type == OW_SHT_NOBITS || names.off > elf->size ||
	    names.size > elf->size - names.off)
		return;
	elf->names_off = names.off;
	elf->names_size = names.size;
}

int ow_elf_parse(struct ow_elf *elf, const uint8_t *bytes, uint64_t size)
{
	static const uint8_t magic[4] = { 0x7f, 'E', 'L', 'F' };
	struct ow_cursor c = { bytes, bytes + size, false };
	const uint8_t *ident = ow_cursor_skip(&c, 16);
	struct ow_elf e = { .bytes = bytes, .size = size };
	uint32_t machine;
	size_t w;

	if (!ident || memcmp(ident, magic, sizeof(magic)) != 0 ||
	    ident[4] < 1 || ident[4] > 2)
		return -OW_EFORMAT;
	if (ident[5] != 1) /* ELFDATA2LSB */
		return -OW_EUNSUPPORTED;
	e.is_64 = ident[4] == 2;
	w = e.is_64 ? 8 : 4;
	e.type = ow_cursor_uint(&c, 2);
	machine = ow_cursor_uint(&c, 2);
	ow_cursor_skip(&c, 4);
	e.entry = ow_cursor_uint(&c, w);
	e.phoff = ow_cursor_uint(&c, w);
	e.shoff = ow_cursor_uint(&c, w);
	ow_cursor_skip(&c, 4 + 2 + 2); /* e_flags, e_ehsize, e_phentsize */
	e.phnum = ow_cursor_uint(&c, 2);
	ow_cursor_skip(&c, 2);
	e.shnum = ow_cursor_uint(&c, 2);
	e.shstrndx = ow_cursor_uint(&c, 2);
	if (c.bad)
		return -OW_EFORMAT;
	e.arch = ow_arch_find(machine, e.is_64);
	if (!e.arch)
		return -OW_EUNSUPPORTED;
	undo_extended_numbering(&e);
	if (e.type != OW_ET_CORE && e.phnum > MOST_SEGMENTS)
		e.phnum = MOST_SEGMENTS;
	find_names(&e);
	*elf = e;
	return 0;
}

const uint8_t *ow_elf_at(const struct ow_elf *elf, uint64_t vaddr,
			 uint64_t *size_ret)
{
	struct ow_elf_segment seg;
	uint64_t skip, left;
	uint32_t i;

	for (i = 0; ow_elf_segment(elf, i, &seg); i++) {
		skip = vaddr - seg.vaddr;
		if (seg.type != OW_PT_LOAD || skip >= seg.filesz ||
		    seg.off >= elf->size)
			continue;
		left = elf->size - seg.off;
		if (left > seg.filesz)
			left = seg.filesz;
		if (skip >= left)
			continue;
		*size_ret = left - skip;
		return elf->bytes + seg.off + skip;
	}
	return NULL;
}

bool ow_elf_note(struct ow_cursor *c, struct ow_elf_note *ret)
{
	struct ow_elf_note n;

	if (!ow_cursor_more(c))
		return false;
	n.name_size = ow_cursor_uint(c, 4);
	n.desc_size = ow_cursor_uint(c, 4);
	n.type = ow_cursor_uint(c, 4);
	n.name = (const char *)ow_cursor_skip(c, n.name_size);
	ow_cursor_skip(c, -n.name_size & 3);
	n.desc = ow_cursor_skip(c, n.desc_size);
	if (c->bad)
		return false;
	/* The last note's padding may be missing. */
	if ((-n.desc_size & 3) <= (uint64_t)(c->end - c->pos))
		ow_cursor_skip(c, -n.desc_size & 3);
	else
		c->pos = c->end;
	*ret = n;
	return true;
}

const uint8_t *ow_elf_build_id(const struct ow_elf *elf, size_t *size_ret)
{
	struct ow_elf_segment seg;
	struct ow_elf_note note;
	unsigned int left = MOST_NOTES;
	struct ow_cursor c;
	uint32_t i;

	for (i = 0; left && ow_elf_segment(elf, i, &seg); i++) {
		if (seg.type != OW_PT_NOTE)
			continue;
		c = bytes_at(elf, seg.off, seg.filesz);
		for (; left && ow_elf_note(&c, &note); left--) {
			if (note.type != OW_NT_GNU_BUILD_ID ||
			    note.name_size != 4 ||
			    memcmp(note.name, "GNU", 4) != 0)
				continue;
			*size_ret = note.desc_size;
			return note.desc;
		}
	}
	return NULL;
}
