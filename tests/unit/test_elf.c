// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#include <string.h>

#include "arch.h"
#include "bytes.h"
#include "elf.h"
#include "test.h"

enum {
	TEXT_VADDR = 0x401000,
	DATA_VADDR = 0x402000,
	DATA_SIZE = 0x10,  /* in the file */
	DATA_MEMSZ = 0x40, /* with .bss */
};

/* Where the parts of a made-up file lie. */
struct layout {
	size_t phoff, notes, notes_size, text, data, names, shoff, end;
};

/* What differs from an ordinary file. */
struct options {
	bool is_64;
	bool extended; /* counts in section header 0 */
	bool no_sections;
};

static struct bytes file;
static struct layout at;

static const char names[] = "\0.text\0.shstrtab\0.eh_frame";

static void put_word(const struct options *o, uint64_t value)
{
	put(&file, o->is_64 ? 8 : 4, value);
}

static void put_header(const struct options *o)
{
	static const uint8_t magic[4] = { 0x7f, 'E', 'L', 'F' };
	uint16_t phnum = o->extended ? 0xffff : 4;
	uint16_t shnum = o->extended || o->no_sections ? 0 : 4;

	put_block(&file, magic, 4);
	put(&file, 1, o->is_64 ? 2 : 1);
	put(&file, 1, 1); /* little-endian */
	put(&file, 1, 1);
	put_to(&file, 16);
	put(&file, 2, OW_ET_EXEC);
	put(&file, 2, o->is_64 ? 62 : 3);
	put(&file, 4, 1);
	put_word(o, TEXT_VADDR + 2);
	put_word(o, at.phoff);
	put_word(o, o->no_sections ? 0 : at.shoff);
	put(&file, 4, 0);
	put(&file, 2, o->is_64 ? 64 : 52);
	put(&file, 2, o->is_64 ? 56 : 32);
	put(&file, 2, phnum);
	put(&file, 2, o->is_64 ? 64 : 40);
	put(&file, 2, shnum);
	put(&file, 2, o->extended ? 0xffff : 2); /* shstrndx */
}

static void put_segment(const struct options *o, uint32_t type, uint32_t flags,
			uint64_t off, uint64_t vaddr, uint64_t filesz,
			uint64_t memsz)
{
	put(&file, 4, type);
	if (o->is_64)
		put(&file, 4, flags);
	put_word(o, off);
	put_word(o, vaddr);
	put_word(o, 0x99999999); /* p_paddr */
	put_word(o, filesz);
	put_word(o, memsz);
	if (!o->is_64)
		put(&file, 4, flags);
	put_word(o, 16);
}

static void put_section(const struct options *o, uint32_t name, uint32_t type,
			uint64_t flags, uint64_t vaddr, uint64_t off,
			uint64_t size, uint32_t link, uint32_t info)
{
	put(&file, 4, name);
	put(&file, 4, type);
	put_word(o, flags);
	put_word(o, vaddr);
	put_word(o, off);
	put_word(o, size);
	put(&file, 4, link);
	put(&file, 4, info);
	put_word(o, 1);
	put_word(o, 0);
}

static void put_note(const char *name, uint32_t type, const char *desc,
		     size_t size)
{
	put(&file, 4, strlen(name) + 1);
	put(&file, 4, size);
	put(&file, 4, type);
	put_block(&file, name, strlen(name) + 1);
	put_to(&file, (file.size + 3) & ~(size_t)3);
	put_block(&file, desc, size);
}

static void put_notes(void)
{
	at.notes = file.size;
	put_note("Linux", 3, "abcd", 4); /* another's note of that number */
	put_note("GNU", 1, "abi!abc", 7);
	put_to(&file, (file.size + 3) & ~(size_t)3);
	/* The last one's padding is missing. */
	put_note("GNU", OW_NT_GNU_BUILD_ID, "\1\2\3\4\5\6\7\10\11", 9);
	at.notes_size = file.size - at.notes;
	put_to(&file, (file.size + 15) & ~(size_t)15);
}

/* Two passes: the first finds where things lie. */
static void build(const struct options *o)
{
	int pass;

	for (pass = 0; pass < 2; pass++) {
		file.size = 0;
		put_header(o);
		at.phoff = file.size;
		put_segment(o, OW_PT_LOAD, OW_PF_X | 4, at.text, TEXT_VADDR, 8,
			    8);
		put_segment(o, OW_PT_NOTE, 4, at.notes, 0, at.notes_size,
			    at.notes_size);
		put_segment(o, OW_PT_LOAD, 6, at.data, DATA_VADDR, DATA_SIZE,
			    DATA_MEMSZ);
		put_segment(o, OW_PT_GNU_EH_FRAME, 4, at.data, DATA_VADDR, 4,
			    4);
		put_notes();
		at.text = file.size;
		put_block(&file, "codecode", 8);
		at.data = file.size;
		put_block(&file, "data67890123456", DATA_SIZE);
		at.names = file.size;
		put_block(&file, names, sizeof(names));
		put_to(&file, (file.size + 7) & ~(size_t)7);
		at.shoff = file.size;
		at.end = file.size;
		if (o->no_sections)
			continue;
		put_section(o, 0, 0, 0, 0, 0, o->extended ? 4 : 0,
			    o->extended ? 2 : 0, o->extended ? 4 : 0);
		put_section(o, 1, 1, 6, TEXT_VADDR, at.text, 8, 0, 0);
		put_section(o, 7, 3, 0, 0, at.names, sizeof(names), 0, 0);
		put_section(o, 17, OW_SHT_NOBITS, OW_SHF_COMPRESSED, 5, 6, 7, 8,
			    9);
		at.end = file.size;
	}
}

static void check_header(const struct options *o, const struct ow_elf *elf)
{
	CHECK(elf->bytes == file.at && elf->size == file.size);
	CHECK(elf->is_64 == o->is_64 && elf->type == OW_ET_EXEC);
	CHECK(elf->arch == (o->is_64 ? &ow_arch_x86_64 : &ow_arch_i386));
	CHECK(elf->entry == TEXT_VADDR + 2);
	CHECK(elf->phoff == at.phoff && elf->phnum == 4);
	CHECK(elf->shnum == (o->no_sections ? 0 : 4));
	CHECK(o->no_sections || elf->shoff == at.shoff);
	CHECK(o->no_sections || elf->shstrndx == 2);
}

static void check_segments(const struct ow_elf *elf)
{
	struct ow_elf_segment s = { .type = 77 };

	CHECK(ow_elf_segment(elf, 0, &s) && s.type == OW_PT_LOAD);
	CHECK(s.flags == (OW_PF_X | 4) && s.off == at.text);
	CHECK(s.vaddr == TEXT_VADDR && s.filesz == 8 && s.memsz == 8);
	CHECK(ow_elf_segment(elf, 1, &s) && s.type == OW_PT_NOTE);
	CHECK(ow_elf_segment(elf, 2, &s) && s.type == OW_PT_LOAD);
	CHECK(s.flags == 6 && s.off == at.data && s.vaddr == DATA_VADDR);
	CHECK(s.filesz == DATA_SIZE && s.memsz == DATA_MEMSZ);
	CHECK(ow_elf_segment(elf, 3, &s) && s.type == OW_PT_GNU_EH_FRAME);
	CHECK(!ow_elf_segment(elf, 4, &s) && !ow_elf_segment(elf, ~0U, &s));
	CHECK(s.type == OW_PT_GNU_EH_FRAME); /* untouched on failure */
}

static void check_sections(const struct ow_elf *elf)
{
	struct ow_elf_section s;

	CHECK(ow_elf_section(elf, 0, &s) && s.type == 0);
	CHECK(ow_elf_section(elf, 1, &s) && s.type == 1 && s.flags == 6);
	CHECK(s.vaddr == TEXT_VADDR && s.off == at.text && s.size == 8);
	CHECK(ow_elf_section_is(elf, &s, ".text"));
	CHECK(!ow_elf_section_is(elf, &s, ".tex"));
	CHECK(!ow_elf_section_is(elf, &s, ".text."));
	CHECK(!ow_elf_section_is(elf, &s, ""));
	CHECK(ow_elf_section(elf, 3, &s) && s.type == OW_SHT_NOBITS);
	CHECK(s.flags == OW_SHF_COMPRESSED && s.vaddr == 5 && s.off == 6);
	CHECK(s.size == 7 && s.link == 8);
	CHECK(ow_elf_section_is(elf, &s, ".eh_frame"));
	s.name = sizeof(names) - 1; /* the last byte: an empty name */
	CHECK(ow_elf_section_is(elf, &s, ""));
	s.name = sizeof(names);
	CHECK(!ow_elf_section_is(elf, &s, ""));
	CHECK(!ow_elf_section(elf, 4, &s) && !ow_elf_section(elf, ~0U, &s));
}

static void check_at(const struct ow_elf *elf)
{
	uint64_t size = 0;

	CHECK(ow_elf_at(elf, TEXT_VADDR, &size) == file.at + at.text);
	CHECK(size == 8);
	CHECK(ow_elf_at(elf, TEXT_VADDR + 7, &size) == file.at + at.text + 7);
	CHECK(size == 1);
	CHECK(!ow_elf_at(elf, TEXT_VADDR + 8, &size));
	CHECK(!ow_elf_at(elf, TEXT_VADDR - 1, &size));
	CHECK(ow_elf_at(elf, DATA_VADDR + 4, &size) == file.at + at.data + 4);
	CHECK(size == DATA_SIZE - 4);
	CHECK(!ow_elf_at(elf, DATA_VADDR + DATA_SIZE, &size)); /* .bss */
	CHECK(!ow_elf_at(elf, 0, &size)); /* the PT_NOTE's vaddr */
	CHECK(!ow_elf_at(elf, ~(uint64_t)0, &size));
}

static void check_notes(const struct ow_elf *elf)
{
	const uint8_t *begin = file.at + at.notes;
	struct ow_cursor c = { begin, begin + at.notes_size, false };
	struct ow_elf_note n = { .type = 0 };
	size_t size = 0;
	const uint8_t *id = ow_elf_build_id(elf, &size);

	CHECK(id && size == 9 && memcmp(id, "\1\2\3\4\5\6\7\10\11", 9) == 0);
	CHECK(ow_elf_note(&c, &n) && n.type == 3);
	CHECK(n.name_size == 6 && memcmp(n.name, "Linux", 6) == 0);
	CHECK(n.desc_size == 4 && memcmp(n.desc, "abcd", 4) == 0);
	CHECK(ow_elf_note(&c, &n) && n.type == 1);
	CHECK(n.desc_size == 7 && memcmp(n.desc, "abi!abc", 7) == 0);
	CHECK(ow_elf_note(&c, &n) && n.type == OW_NT_GNU_BUILD_ID);
	CHECK(n.desc == id && n.desc_size == 9);
	CHECK(!ow_elf_note(&c, &n) && !c.bad);
}

static void check_file(struct options o)
{
	struct ow_elf elf;

	build(&o);
	CHECK(ow_elf_parse(&elf, file.at, file.size) == 0);
	check_header(&o, &elf);
	check_segments(&elf);
	if (!o.no_sections)
		check_sections(&elf);
	check_at(&elf);
	check_notes(&elf);
}

static void test_both_classes(void)
{
	check_file((struct options){ .is_64 = true });
	check_file((struct options){ .is_64 = false });
}

static void test_extended_numbering(void)
{
	check_file((struct options){ .is_64 = true, .extended = true });
	check_file((struct options){ .is_64 = false, .extended = true });
}

static void test_no_sections(void)
{
	struct ow_elf elf;
	struct ow_elf_section s;
	size_t shnum;

	check_file((struct options){ .is_64 = true, .no_sections = true });
	/* A count without headers, as strip tools leave it. */
	for (shnum = 0; shnum < 3; shnum++) {
		patch(&file, 60, 2, shnum);
		CHECK(ow_elf_parse(&elf, file.at, file.size) == 0);
		CHECK(elf.shnum == 0 && !ow_elf_section(&elf, 0, &s));
	}
	check_file((struct options){ .is_64 = false, .no_sections = true });
}

static void test_what_is_refused(void)
{
	struct options o = { .is_64 = true };
	struct ow_elf elf = { .size = 77 };

	build(&o);
	patch(&file, 0, 1, 0x7e);
	CHECK(ow_elf_parse(&elf, file.at, file.size) == -OW_EFORMAT);
	build(&o);
	patch(&file, 4, 1, 3); /* class */
	CHECK(ow_elf_parse(&elf, file.at, file.size) == -OW_EFORMAT);
	patch(&file, 4, 1, 0);
	CHECK(ow_elf_parse(&elf, file.at, file.size) == -OW_EFORMAT);
	build(&o);
	patch(&file, 5, 1, 2); /* big-endian */
	CHECK(ow_elf_parse(&elf, file.at, file.size) == -OW_EUNSUPPORTED);
	build(&o);
	patch(&file, 18, 2, 40); /* Arm */
	CHECK(ow_elf_parse(&elf, file.at, file.size) == -OW_EUNSUPPORTED);
	patch(&file, 18, 2, 3); /* i386 of 64 bits */
	CHECK(ow_elf_parse(&elf, file.at, file.size) == -OW_EUNSUPPORTED);
	CHECK(elf.size == 77);
	patch(&file, 18, 2, 183);
	CHECK(ow_elf_parse(&elf, file.at, file.size) == 0);
	CHECK(elf.arch == &ow_arch_aarch64);
}

static void use_all(const struct ow_elf *elf)
{
	struct ow_elf_segment seg;
	struct ow_elf_section sec;
	uint64_t size;
	size_t id_size;
	uint32_t i;

	for (i = 0; i < elf->phnum && i < 10; i++)
		if (ow_elf_segment(elf, i, &seg))
			ow_elf_at(elf, seg.vaddr + seg.filesz - 1, &size);
	for (i = 0; i < elf->shnum && i < 10; i++)
		if (ow_elf_section(elf, i, &sec))
			ow_elf_section_is(elf, &sec, ".text");
	CHECK(!ow_elf_section(elf, elf->shnum, &sec));
	ow_elf_build_id(elf, &id_size);
}

static void check_prefixes(struct options o)
{
	struct ow_elf elf;
	size_t size, head = o.is_64 ? 64 : 52;

	build(&o);
	for (size = 0; size <= file.size; size++) {
		uint8_t *bytes = exact(file.at, size);
		int err = ow_elf_parse(&elf, bytes, size);

		CHECK(err == (size < head ? -OW_EFORMAT : 0));
		if (!err) {
			CHECK(elf.shnum == (size < file.size ? 0 : 4) ||
			      size >= at.shoff + (o.is_64 ? 64 : 40));
			use_all(&elf);
		}
		free(bytes);
	}
}

static void test_every_prefix(void)
{
	check_prefixes((struct options){ .is_64 = true });
	check_prefixes((struct options){ .is_64 = false });
	check_prefixes((struct options){ .is_64 = true, .extended = true });
}

static void test_hostile_numbers(void)
{
	static const uint64_t bad[] = { ~(uint64_t)0, ~(uint64_t)63,
					~(uint64_t)0 - 200, (uint64_t)1 << 63 };
	struct options o = { .is_64 = true, .extended = true };
	struct ow_elf_segment seg;
	struct ow_elf elf;
	size_t i, field;

	for (i = 0; i < OW_ARRAY_SIZE(bad); i++) {
		for (field = 32; field <= 40; field += 8) { /* phoff, shoff */
			build(&o);
			patch(&file, field, 8, bad[i]);
			CHECK(ow_elf_parse(&elf, file.at, file.size) == 0);
			use_all(&elf);
			CHECK(field == 32 || elf.shnum == 0);
			CHECK(field == 40 || !ow_elf_segment(&elf, 0, &seg));
		}
		for (field = 8; field <= 40; field += 8) {
			build(&o);
			patch(&file, at.phoff + field, 8, bad[i]);
			patch(&file, at.phoff + 56 + field, 8, bad[i]);
			CHECK(ow_elf_parse(&elf, file.at, file.size) == 0);
			use_all(&elf);
		}
	}
	/* A segment that is longer than the file gives what there is. */
	build(&o);
	patch(&file, at.phoff + 32, 8, 0x100000);
	CHECK(ow_elf_parse(&elf, file.at, file.size) == 0);
	CHECK(ow_elf_at(&elf, TEXT_VADDR, &seg.filesz) == file.at + at.text);
	CHECK(seg.filesz == file.size - at.text);
	CHECK(!ow_elf_at(&elf, TEXT_VADDR + file.size - at.text, &seg.filesz));
}

static void test_notes_cut(void)
{
	struct options o = { .is_64 = true };
	struct ow_elf_note note;
	size_t size, nr, want;

	build(&o);
	for (size = 0; size < at.notes_size; size++) {
		uint8_t *bytes = exact(file.at + at.notes, size);
		struct ow_cursor c = { bytes, bytes + size, false };

		/* 12 + 8 + 4 bytes; 12 + 4 + 7, whose padding may lack */
		want = (size >= 24) + (size >= 47);
		for (nr = 0; ow_elf_note(&c, &note); nr++)
			;
		CHECK(nr == want);
		free(bytes);
	}
}

int main(void)
{
	static const struct test tests[] = {
		{ "both classes", test_both_classes },
		{ "extended numbering", test_extended_numbering },
		{ "no sections", test_no_sections },
		{ "what is refused", test_what_is_refused },
		{ "every prefix", test_every_prefix },
		{ "hostile numbers", test_hostile_numbers },
		{ "notes, cut", test_notes_cut },
	};

	return test_main(tests, OW_ARRAY_SIZE(tests));
}
