// SPDX-License-Identifier: BSD-2-Clause
/* Page tables of guests: pages of all sizes, and what isn't there. */
#include "pagetable.h"

#include <stdlib.h>
#include <string.h>

#include "test.h"
#include "vmcoreinfo.h"

#define PAGE   4096
#define PAGES  16
#define START  0x100000ULL /* physical */
#define KERNEL 0xffffffff81000000ULL

static uint64_t memory[PAGES][PAGE / 8];

static uint64_t page(unsigned int i)
{
	return START + (uint64_t)i * PAGE;
}

static struct ow_physical run = { START, sizeof(memory),
				  (const uint8_t *)memory };

static struct ow_pagetable make(unsigned int levels, bool is_aarch64)
{
	memset(memory, 0, sizeof(memory));
	return (struct ow_pagetable){ &run, 1, page(0), (uint8_t)levels,
				      is_aarch64 };
}

/* Set the entry of an address in the table of a level, at page i. */
static void set(unsigned int i, unsigned int level, uint64_t addr,
		uint64_t entry)
{
	memory[i][addr >> (12 + 9 * level) & 511] = entry;
}

static bool reads(const struct ow_pagetable *t, uint64_t addr, uint64_t expect)
{
	uint64_t got = 0;

	return ow_pagetable_read(t, addr, &got, sizeof(got)) && got == expect;
}

static bool fails(const struct ow_pagetable *t, uint64_t addr)
{
	uint64_t got;

	return !ow_pagetable_read(t, addr, &got, sizeof(got));
}

static void check_small(unsigned int levels)
{
	struct ow_pagetable t = make(levels, false);
	unsigned int level = levels, i = 0;

	/* NX and other high bits are no part of the address. */
	while (--level > 0) {
		set(i, level, KERNEL, page(i + 1) | 0x8000000000000023);
		i++;
	}
	set(i, 0, KERNEL, page(8) | 1);
	set(i, 0, KERNEL + PAGE, page(10) | 1);
	set(i, 0, KERNEL + 2 * PAGE, page(11) & ~1ULL);
	set(i, 0, KERNEL + 3 * PAGE, 0x40000000 | 1);
	memory[8][0] = 0x1122334455667788;
	memory[8][511] = 0x0807060504030201;
	memory[10][0] = 0x100f0e0d0c0b0a09;
	CHECK(reads(&t, KERNEL, 0x1122334455667788));
	CHECK(reads(&t, KERNEL + 4088, 0x0807060504030201));
	/* Across two pages that are not neighbours. */
	CHECK(reads(&t, KERNEL + 4092, 0x0c0b0a0908070605));
	CHECK(fails(&t, KERNEL + 2 * PAGE)); /* not present */
	CHECK(fails(&t, KERNEL + 2 * PAGE - 4));
	CHECK(fails(&t, KERNEL + 3 * PAGE)); /* not in the dump */
	CHECK(fails(&t, KERNEL - 1));
	CHECK(fails(&t, ~(uint64_t)0 - 3));
}

static void test_small(void)
{
	check_small(4);
	check_small(5);
}

/* The lower half is a program's, and between the halves is nothing. */
static void test_halves(void)
{
	struct ow_pagetable t = make(4, false);

	set(0, 3, 0, page(1) | 1);
	set(0, 3, KERNEL, page(1) | 1);
	set(1, 2, 0, page(2) | 1);
	set(1, 2, KERNEL, page(2) | 1);
	set(2, 1, 0, page(3) | 1);
	set(2, 1, KERNEL, page(3) | 1);
	set(3, 0, 0, page(4) | 1);
	set(3, 0, KERNEL, page(4) | 1);
	memory[4][0] = 7;
	CHECK(reads(&t, KERNEL, 7));
	CHECK(fails(&t, 0));
	CHECK(fails(&t, KERNEL & 0xffffffffffffULL));
	CHECK(fails(&t, KERNEL & ~(1ULL << 48)));
	t.levels = 5;
	CHECK(fails(&t, KERNEL));
}

static void test_large(void)
{
	struct ow_pagetable t = make(4, false);

	set(0, 3, KERNEL, page(1) | 1);
	set(1, 2, KERNEL, page(2) | 1);
	/* 2 MiB from 0, and 1 GiB from 0; bits of the PAT are no address. */
	set(2, 1, KERNEL, 0x1000 | 0x81);
	set(1, 2, KERNEL + 0x40000000, 0x81);
	memory[8][3] = 99;
	CHECK(reads(&t, KERNEL + page(8) + 24, 99));
	CHECK(reads(&t, KERNEL - 0x1000000 + 0x40000000 + page(8) + 24, 99));
	CHECK(fails(&t, KERNEL + 0x1000));
}

static void test_aarch64(void)
{
	const uint64_t at = 0xffff800008000000ULL;
	struct ow_pagetable t = make(4, true);

	set(0, 3, at, page(1) | 3);
	set(1, 2, at, page(2) | 3);
	set(2, 1, at, page(3) | 3);
	set(2, 1, at + 0x200000, 0x0060000000000000 | 1); /* a block */
	set(3, 0, at, page(9) | 0x0040000000000703);
	memory[9][1] = 5;
	CHECK(reads(&t, at + 8, 5));
	CHECK(reads(&t, at + 0x200000 + page(9) + 8, 5));
	CHECK(fails(&t, at + 0x1000));
	CHECK(fails(&t, at & ~(1ULL << 48)));
	t = make(3, true);
	set(0, 2, 0xffffffc008000000, page(1) | 3);
	set(1, 1, 0xffffffc008000000, 1);
	memory[9][1] = 6;
	CHECK(reads(&t, 0xffffffc008000000 + page(9) + 8, 6));
}

/* A table that is its own next table ends after as many levels as there are. */
static void test_loop(void)
{
	struct ow_pagetable t = make(4, false);
	size_t i;

	for (i = 0; i < PAGE / 8; i++)
		memory[0][i] = page(0) | 1;
	CHECK(reads(&t, KERNEL, page(0) | 1));
}

static void test_runs(void)
{
	static const uint8_t bytes[64];
	const struct ow_physical runs[] = {
		{ 0, 16, bytes },
		{ 0x1000, 16, bytes + 16 },
		{ ~(uint64_t)0 - 15, 15, bytes + 32 },
	};
	struct ow_pagetable t = { runs, 3, 0, 4, false };

	CHECK(ow_pagetable_physical(&t, 0, 16) == bytes);
	CHECK(ow_pagetable_physical(&t, 0x1008, 8) == bytes + 24);
	CHECK(!ow_pagetable_physical(&t, 0x1008, 9));
	CHECK(!ow_pagetable_physical(&t, 16, 1));
	CHECK(!ow_pagetable_physical(&t, 0x1000, ~(uint64_t)0));
	CHECK(ow_pagetable_physical(&t, ~(uint64_t)0 - 1, 1) == bytes + 46);
	CHECK(!ow_pagetable_physical(&t, ~(uint64_t)0, 1));
}

static void test_vmcoreinfo(void)
{
	static const char text[] = "OSRELEASE=6.1.0-x\nBUILD-ID=0a1b\n"
				   "KERNELOFFSET=1f000000\n"
				   "NUMBER(phys_base)=-190840832\n"
				   "NUMBER(kimage_voffset)=0xffff7fffc8000000\n"
				   "EMPTY=\nBAD=12x\nLAST=7";
	struct ow_vmcoreinfo v = { text, sizeof(text) - 1 };
	uint64_t hex;
	int64_t number;
	char buf[10];

	CHECK(ow_vmcoreinfo_text(&v, "OSRELEASE", buf, sizeof(buf)) &&
	      strcmp(buf, "6.1.0-x") == 0);
	CHECK(!ow_vmcoreinfo_text(&v, "OSRELEASE", buf, 7));
	CHECK(ow_vmcoreinfo_text(&v, "OSRELEASE", buf, 8));
	CHECK(!ow_vmcoreinfo_text(&v, "OSRELEAS", buf, sizeof(buf)));
	CHECK(!ow_vmcoreinfo_text(&v, "RELEASE", buf, sizeof(buf)));
	CHECK(!ow_vmcoreinfo_text(&v, "EMPTY", buf, sizeof(buf)));
	CHECK(ow_vmcoreinfo_hex(&v, "KERNELOFFSET", &hex) && hex == 0x1f000000);
	CHECK(ow_vmcoreinfo_hex(&v, "NUMBER(kimage_voffset)", &hex) &&
	      hex == 0xffff7fffc8000000);
	CHECK(ow_vmcoreinfo_number(&v, "NUMBER(phys_base)", &number) &&
	      number == -190840832);
	CHECK(!ow_vmcoreinfo_number(&v, "BAD", &number));
	CHECK(ow_vmcoreinfo_number(&v, "LAST", &number) && number == 7);
	v.size--;
	CHECK(!ow_vmcoreinfo_number(&v, "LAST", &number));
	v.size = 0;
	v.text = NULL;
	CHECK(!ow_vmcoreinfo_number(&v, "LAST", &number));
}

int main(void)
{
	static const struct test tests[] = {
		{ "pages of 4 KiB, 4 and 5 levels", test_small },
		{ "halves of the address space", test_halves },
		{ "pages of 2 MiB and 1 GiB", test_large },
		{ "AArch64, 3 and 4 levels", test_aarch64 },
		{ "a table that leads to itself", test_loop },
		{ "runs of physical memory", test_runs },
		{ "VMCOREINFO", test_vmcoreinfo },
	};

	return test_main(tests, (int)OW_ARRAY_SIZE(tests));
}
