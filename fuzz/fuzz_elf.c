// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Input: an ELF file, whose header chooses the architecture. */
#include "elf.h"
#include "fuzz.h"

#define MAX_HEADERS 0x20000

static void check_inside(const struct ow_elf *elf, const void *at,
			 uint64_t size)
{
	const uint8_t *bytes = at;

	ASSERT(bytes >= elf->bytes && bytes <= elf->bytes + elf->size);
	ASSERT(size <= (uint64_t)(elf->bytes + elf->size - bytes));
}

static void check_at(const struct ow_elf *elf, uint64_t vaddr)
{
	uint64_t size = 0;
	const uint8_t *at = ow_elf_at(elf, vaddr, &size);

	if (!at)
		return;
	ASSERT(size > 0);
	check_inside(elf, at, size);
}

static void check_notes(const struct ow_elf *elf,
			const struct ow_elf_segment *seg)
{
	struct ow_cursor c;
	struct ow_elf_note note;
	const uint8_t *before;

	if (seg->off > elf->size || seg->filesz > elf->size - seg->off)
		return;
	c = (struct ow_cursor){ elf->bytes + seg->off,
				elf->bytes + seg->off + seg->filesz, false };
	for (before = c.pos; ow_elf_note(&c, &note); before = c.pos) {
		ASSERT(c.pos > before && c.pos <= c.end);
		check_inside(elf, note.name, note.name_size);
		check_inside(elf, note.desc, note.desc_size);
	}
}

static void check_segments(const struct ow_elf *elf)
{
	struct ow_elf_segment seg;
	uint32_t i;

	for (i = 0; i < MAX_HEADERS && ow_elf_segment(elf, i, &seg); i++) {
		ASSERT(i < elf->phnum);
		if (i >= 8)
			continue;
		check_at(elf, seg.vaddr);
		check_at(elf, seg.vaddr + seg.filesz - 1);
		check_at(elf, seg.vaddr + seg.filesz);
		if (seg.type == OW_PT_NOTE)
			check_notes(elf, &seg);
	}
	ASSERT(!ow_elf_segment(elf, elf->phnum, &seg));
}

static void check_sections(const struct ow_elf *elf)
{
	struct ow_elf_section sec;
	uint32_t i;

	for (i = 0; i < MAX_HEADERS && ow_elf_section(elf, i, &sec); i++) {
		ASSERT(i < elf->shnum);
		ow_elf_section_is(elf, &sec, ".eh_frame");
		ASSERT(!ow_elf_section_is(elf, &sec, ".a") ||
		       !ow_elf_section_is(elf, &sec, ".b"));
	}
	ASSERT(i > 0 || elf->shnum == 0);
	ASSERT(!ow_elf_section(elf, elf->shnum, &sec));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ow_elf elf;
	size_t id_size = 0;
	const uint8_t *id;
	int err = ow_elf_parse(&elf, data, size);

	ASSERT(err == 0 || err == -OW_EFORMAT || err == -OW_EUNSUPPORTED);
	if (err)
		return 0;
	ASSERT(elf.bytes == data && elf.size == size && elf.arch);
	ASSERT((elf.arch->word == 8) == elf.is_64);
	check_segments(&elf);
	check_sections(&elf);
	check_at(&elf, elf.entry);
	check_at(&elf, 0);
	check_at(&elf, ~(uint64_t)0);
	id = ow_elf_build_id(&elf, &id_size);
	if (id)
		check_inside(&elf, id, id_size);
	return 0;
}
