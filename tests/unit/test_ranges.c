// SPDX-License-Identifier: BSD-2-Clause
/* Ranges of a DIE after many base addresses, each of which is paid for. */
#include "ranges.h"

#include <dwarf.h>
#include <elf.h>
#include <elfutils/libdw.h>
#include <string.h>

#include "error.h"
#include "test.h"
#include "unitcost.h"

#define NR    1000 /* base addresses */
#define MUCH  ((uint64_t)1 << 20)
#define STEPS (4 * NR) /* that they take */

/* A file that has a unit of one DIE with DW_AT_ranges, and these lists. */
struct file {
	_Alignas(8) uint8_t bytes[64 * NR];
	size_t size, nr;
	Elf64_Shdr headers[6];
	char names[128];
	size_t names_size;
};

static void put(struct file *f, const void *bytes, size_t size)
{
	memcpy(f->bytes + f->size, bytes, size);
	f->size += size;
}

/* What is put from here on is a section. */
static void begin(struct file *f, const char *name)
{
	f->headers[++f->nr] = (Elf64_Shdr){
		.sh_name = (Elf64_Word)f->names_size,
		.sh_type = SHT_PROGBITS,
		.sh_offset = f->size,
		.sh_addralign = 1,
	};
	strcpy(f->names + f->names_size, name);
	f->names_size += strlen(name) + 1;
}

static void end(struct file *f)
{
	f->headers[f->nr].sh_size = f->size - f->headers[f->nr].sh_offset;
}

static void begin_file(struct file *f)
{
	*f = (struct file){ .size = sizeof(Elf64_Ehdr), .names_size = 1 };
}

static void end_file(struct file *f)
{
	Elf64_Ehdr head = {
		.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64,
			     ELFDATA2LSB, EV_CURRENT },
		.e_type = ET_DYN,
		.e_machine = EM_X86_64,
		.e_version = EV_CURRENT,
		.e_ehsize = sizeof(head),
		.e_shentsize = sizeof(f->headers[0]),
	};

	begin(f, ".shstrtab");
	f->headers[f->nr].sh_type = SHT_STRTAB;
	put(f, f->names, f->names_size);
	end(f);
	f->size = (f->size + 7) & ~(size_t)7;
	head.e_shoff = f->size;
	head.e_shnum = (Elf64_Half)(f->nr + 1);
	head.e_shstrndx = (Elf64_Half)f->nr;
	put(f, f->headers, (f->nr + 1) * sizeof(f->headers[0]));
	memcpy(f->bytes, &head, sizeof(head));
}

/* One unit; its DIE has a range list by that form, and a value of that many bytes. */
static void put_unit(struct file *f, uint8_t version, uint8_t form,
		     uint32_t value, uint8_t size)
{
	const uint8_t abbrevs[] = {
		1, DW_TAG_compile_unit, 0, DW_AT_ranges, form, 0, 0, 0
	};
	const uint8_t old[] = {
		(uint8_t)(8 + size), 0, 0, 0, version, 0, 0, 0, 0, 0, 8, 1
	};
	const uint8_t five[] = { (uint8_t)(9 + size),
				 0,
				 0,
				 0,
				 version,
				 0,
				 DW_UT_compile,
				 8,
				 0,
				 0,
				 0,
				 0,
				 1 };

	begin(f, ".debug_abbrev");
	put(f, abbrevs, sizeof(abbrevs));
	end(f);
	begin(f, ".debug_info");
	if (version < 5)
		put(f, old, sizeof(old));
	else
		put(f, five, sizeof(five));
	put(f, &value, size);
	end(f);
}

/* Base addresses, a range, as many base addresses, and the end. */
static void put_old_list(struct file *f)
{
	static const uint64_t base[] = { UINT64_MAX, 0x1000 };
	static const uint64_t range[] = { 1, 2 }, last[2];

	for (int i = 0; i < 2 * NR; i++) {
		if (i == NR)
			put(f, range, sizeof(range));
		put(f, base, sizeof(base));
	}
	put(f, last, sizeof(last));
}

static void put_list(struct file *f)
{
	static const uint8_t base[] = { DW_RLE_base_address, 0, 0x10 };
	static const uint8_t zeros[6];
	static const uint8_t range[] = { DW_RLE_offset_pair, 1, 2 };

	for (int i = 0; i < 2 * NR; i++) {
		if (i == NR)
			put(f, range, sizeof(range));
		put(f, base, sizeof(base));
		put(f, zeros, sizeof(zeros));
	}
	put(f, zeros, 1);
}

/* Go through the ranges with so much work; return how many there are. */
static int count(const struct file *f, bool is_paid, uint64_t *work)
{
	Elf *elf = elf_memory((char *)f->bytes, f->size);
	Dwarf *dw = dwarf_begin_elf(elf, DWARF_C_READ, NULL);
	struct ow_unitcost cost;
	struct ow_ranges r;
	Dwarf_Off next;
	Dwarf_Die die;
	size_t head;
	int nr = 0;

	ow_unitcost_init(&cost, f->bytes, f->size);
	CHECK(dw && dwarf_nextcu(dw, 0, &next, &head, NULL, NULL, NULL) == 0 &&
	      dwarf_offdie(dw, head, &die));
	ow_ranges_init(&r, &die, 1, is_paid ? &cost : NULL, work);
	while (ow_ranges_next(&r)) {
		CHECK(r.start == 0x1001 && r.end == 0x1002);
		nr++;
	}
	dwarf_end(dw);
	elf_end(elf);
	return nr;
}

static void check_paid(const struct file *f)
{
	uint64_t work = MUCH;

	/* libdw doesn't tell of them. */
	CHECK(count(f, false, &work) == 1 && work == MUCH - 2 * 9);
	work = MUCH;
	CHECK(count(f, true, &work) == 1);
	CHECK(work <= MUCH - 2 * STEPS && work > MUCH - 2 * STEPS - 100);
	work = STEPS / 2;
	CHECK(count(f, true, &work) == 0 && work == 0);
	work = STEPS + STEPS / 2;
	CHECK(count(f, true, &work) == 1 && work == 0);
}

static void test_dwarf4(void)
{
	static struct file f;

	begin_file(&f);
	put_unit(&f, 4, DW_FORM_sec_offset, 0, 4);
	begin(&f, ".debug_ranges");
	put_old_list(&f);
	end(&f);
	end_file(&f);
	check_paid(&f);
}

static void test_dwarf5(void)
{
	static struct file f;

	begin_file(&f);
	put_unit(&f, 5, DW_FORM_sec_offset, 3, 4);
	begin(&f, ".debug_rnglists");
	put(&f, "\1\1\1", 3);
	put_list(&f);
	end(&f);
	end_file(&f);
	check_paid(&f);
}

/* The second one of a table without a name for its place. */
static void test_index(void)
{
	static const uint8_t head[] = { 0xff, 0x40, 0, 0, 5, 0, 8, 0, 2, 0,
					0,    0,    7, 0, 0, 0, 8, 0, 0, 0 };
	static struct file f;

	begin_file(&f);
	put_unit(&f, 5, DW_FORM_rnglistx, 1, 1);
	begin(&f, ".debug_rnglists");
	put(&f, head, sizeof(head));
	put_list(&f);
	end(&f);
	end_file(&f);
	check_paid(&f);
}

/* Sections that libdw doesn't take are before the one that it takes. */
static void test_sections(void)
{
	static struct file f;

	begin_file(&f);
	put_unit(&f, 4, DW_FORM_sec_offset, 0, 4);
	begin(&f, ".debug_ranges");
	f.headers[f.nr].sh_type = SHT_NOBITS;
	f.headers[f.nr].sh_size = 16;
	begin(&f, ".debug_ranges");
	put_old_list(&f);
	end(&f);
	end_file(&f);
	check_paid(&f);
}

int main(void)
{
	static const struct test tests[] = {
		{ "DWARF 4", test_dwarf4 },
		{ "DWARF 5", test_dwarf5 },
		{ "by an index", test_index },
		{ "sections without bytes", test_sections },
	};

	elf_version(EV_CURRENT);
	return test_main(tests, OW_ARRAY_SIZE(tests));
}
