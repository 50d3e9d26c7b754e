// SPDX-License-Identifier: BSD-2-Clause
/* Which bytes of a file its segments say are read-only. */
#include "readonly.h"

#include <elf.h>

#include "test.h"

#define MOST 128

/* A file of program headers, and bytes. */
static struct {
	Elf64_Phdr headers[MOST];
	uint8_t bytes[0x1000];
} file;

static struct ow_elf elf;
static struct ow_readonly readonly;

static void add(uint32_t flags, uint64_t vaddr, uint64_t filesz, uint64_t memsz)
{
	file.headers[elf.phnum++] = (Elf64_Phdr){
		.p_type = PT_LOAD,
		.p_flags = flags,
		.p_offset = sizeof(file.headers) + (vaddr & 0xfff),
		.p_vaddr = vaddr,
		.p_filesz = filesz,
		.p_memsz = memsz,
	};
}

static void begin(void)
{
	ow_readonly_deinit(&readonly);
	elf = (struct ow_elf){ .bytes = (const uint8_t *)&file,
			       .size = sizeof(file),
			       .is_64 = true };
}

static void make(void)
{
	CHECK(ow_readonly_make(&readonly, &elf) == 0);
}

/* Are the bytes there that add() has given that vaddr? */
static bool has(uint64_t vaddr, size_t size)
{
	const uint8_t *at = ow_readonly_at(&readonly, vaddr, size);

	CHECK(!at || at == file.bytes + (vaddr & 0xfff));
	return at;
}

static void test_ordinary_file(void)
{
	begin();
	add(PF_R, 0x1000, 0x100, 0x100);
	add(PF_R | PF_X, 0x2100, 0x200, 0x200);
	add(PF_R | PF_W, 0x3300, 0x100, 0x400);
	add(PF_R, 0x4400, 0x100, 0x200);
	file.headers[elf.phnum++] = (Elf64_Phdr){ .p_type = PT_NOTE,
						  .p_vaddr = 0x5000,
						  .p_filesz = 8 };
	make();
	CHECK(has(0x1000, 0x100) && has(0x10ff, 1) && !has(0x10ff, 2));
	CHECK(!has(0xfff, 1) && !has(0x1100, 1));
	CHECK(has(0x2100, 8) && has(0x22f8, 8) && !has(0x22f9, 8));
	CHECK(!has(0x3300, 8) && !has(0x3500, 8));
	/* what is in memory alone isn't known */
	CHECK(has(0x44f8, 8) && !has(0x44f9, 8) && !has(0x4500, 1));
	CHECK(!has(0x5000, 8) && !has(UINT64_MAX, 1) && !has(0, 1));
}

static void test_no_segments(void)
{
	begin();
	make();
	CHECK(!has(0, 1) && !has(0x1000, 8));
}

/* As many as are looked through, in any order. */
static void test_many_segments(void)
{
	uint64_t i, vaddr;

	begin();
	for (i = 0; i < MOST; i++)
		add(PF_R, ((i * 37 % MOST) << 16) + 16 * i, 16, 16);
	make();
	for (i = 0; i < MOST; i++) {
		vaddr = ((i * 37 % MOST) << 16) + 16 * i;
		CHECK(has(vaddr, 16) && !has(vaddr + 1, 16) &&
		      !has(vaddr - 1, 1));
	}
}

static void test_overlaps(void)
{
	begin();
	add(PF_R, 0x1000, 0x800, 0x800);
	add(PF_R | PF_W, 0x1400, 0x100, 0x200);
	make();
	CHECK(has(0x13f8, 8) && !has(0x13f9, 8) && !has(0x1400, 1) &&
	      !has(0x15ff, 1));
	begin();
	add(PF_R | PF_W, 0x1000, 0x100, 0x200);
	add(PF_R, 0x1100, 0x200, 0x200);
	make();
	CHECK(!has(0x1100, 1) && !has(0x11ff, 1) && has(0x1200, 0x100));
	begin();
	add(PF_R, 0x1000, 0x200, 0x200);
	add(PF_R, 0x1080, 0x80, 0x80);
	add(PF_R, 0x1100, 0x200, 0x200);
	make();
	CHECK(has(0x1000, 0x200) && has(0x1200, 0x100) && !has(0x1201, 0x100));
}

/* Segments that go beyond the file, or the address space. */
static void test_hostile_numbers(void)
{
	uint64_t last = sizeof(file.bytes) - 0x10;

	begin();
	add(PF_R, 0x1000 + last, 0x100, 0x100);
	add(PF_R, 0x3000, 0x100, 0x100);
	file.headers[1].p_offset = UINT64_MAX - 4;
	add(PF_R, 0x4000, UINT64_MAX, UINT64_MAX);
	add(PF_R, UINT64_MAX - 0xfff, 0x2000, 0x2000);
	make();
	CHECK(has(0x1000 + last, 0x10) && !has(0x1000 + last, 0x11));
	CHECK(!has(0x3000, 1));
	CHECK(has(0x4000, 0x1000) && !has(0x4000, 0x1001));
	CHECK(has(UINT64_MAX - 0xfff, 8) && !has(UINT64_MAX - 6, 8));
	begin();
	add(PF_R | PF_W, 0x1000, 1, UINT64_MAX);
	add(PF_R, 0x2000, 0x100, 0x100);
	make();
	CHECK(!has(0x2000, 8));
	/* Headers that aren't there. */
	elf.phoff = sizeof(file) - 8;
	ow_readonly_deinit(&readonly);
	make();
	CHECK(!has(0x2000, 8));
	ow_readonly_deinit(&readonly);
}

int main(void)
{
	static const struct test tests[] = {
		{ "ordinary file", test_ordinary_file },
		{ "no segments", test_no_segments },
		{ "many segments", test_many_segments },
		{ "overlaps", test_overlaps },
		{ "hostile numbers", test_hostile_numbers },
	};

	return test_main(tests, OW_ARRAY_SIZE(tests));
}
