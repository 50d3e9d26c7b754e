// SPDX-License-Identifier: BSD-2-Clause
/* Page tables of all kinds, as the manuals draw them. */
#include "paging.h"

#include <string.h>

#include "test.h"

#define PAGE  4096
#define PAGES 64 /* from physical address 0 on */

struct memory {
	struct ow_physmem mem; /* first: cast back */
	uint8_t bytes[PAGES * PAGE];
};

static struct memory m;

static const uint8_t *at(const struct ow_physmem *mem, uint64_t addr,
			 size_t size)
{
	const struct memory *from = (const struct memory *)mem;

	if (addr > sizeof(m.bytes) - size)
		return NULL;
	return from->bytes + addr;
}

static void clear(void)
{
	memset(&m, 0, sizeof(m));
	m.mem.at = at;
}

static void set64(uint64_t table, uint64_t index, uint64_t entry)
{
	memcpy(m.bytes + table + 8 * index, &entry, 8);
}

static void set32(uint64_t table, uint64_t index, uint64_t entry)
{
	uint32_t word = (uint32_t)entry;

	memcpy(m.bytes + table + 4 * index, &word, 4);
}

/* The address leads there, and so many bytes follow in a row. */
static bool leads(const struct ow_paging *p, uint64_t addr, uint64_t physical,
		  uint64_t run)
{
	uint64_t got = 0, got_run = 0;

	return ow_paging_find(p, &m.mem, addr, &got, &got_run) ==
		       OW_PAGING_MAPPED &&
	       got == physical && got_run == run;
}

static bool absent(const struct ow_paging *p, uint64_t addr)
{
	uint64_t got, run;

	return ow_paging_find(p, &m.mem, addr, &got, &run) == OW_PAGING_ABSENT;
}

static bool missing(const struct ow_paging *p, uint64_t addr)
{
	uint64_t got, run;

	return ow_paging_find(p, &m.mem, addr, &got, &run) == OW_PAGING_MISSING;
}

#define PG   0x80000000u
#define PAE  0x20
#define LA57 0x1000
#define LMA  0x400
#define NX   0x8000000000000000ULL
#define KIB  1024ULL
#define MIB  (1024 * KIB)
#define GIB  (1024 * MIB)

static void test_off(void)
{
	struct ow_paging p = ow_paging_x86(0, 0x1000, PAE, 0);

	clear();
	CHECK(leads(&p, 0x12345, 0x12345, ~0x12345ULL));
	p = ow_paging_aarch64(0, 0, 0, 0);
	CHECK(p.format == OW_PAGING_OFF);
	p = ow_paging_arm(0, 0, 0, 0);
	CHECK(p.format == OW_PAGING_OFF);
}

/* The kernel's half and the program's, by the same top table. */
static void test_x86_64(void)
{
	struct ow_paging p = ow_paging_x86(PG, 0x1018, PAE, LMA);
	const uint64_t low = 0x00007f1234567000, high = 0xffff812345678000;
	const uint64_t halves[] = { low, high };
	size_t i;

	for (i = 0; i < 2; i++) {
		uint64_t a = halves[i];

		clear();
		set64(0x1000, a >> 39 & 511, 0x2000 | 0x67);
		set64(0x2000, a >> 30 & 511, 0x3000 | 0x67);
		set64(0x3000, a >> 21 & 511, 0x4000 | 0x67);
		set64(0x4000, a >> 12 & 511, 0x123456789000 | NX | 0x67);
		CHECK(leads(&p, a, 0x123456789000, PAGE));
		CHECK(leads(&p, a + 0xabc, 0x123456789abc, PAGE - 0xabc));
		CHECK(absent(&p, a + PAGE) && absent(&p, a - PAGE));
		CHECK(absent(&p, a ^ (1ULL << 47)));
		CHECK(absent(&p, a ^ (1ULL << 48)));
		CHECK(absent(&p, a ^ (1ULL << 63)));
		/* 2 MiB, 1 GiB; bit 12 is the PAT's.  No 512 GiB. */
		set64(0x3000, a >> 21 & 511, 0x40000000 | 0x10e7);
		CHECK(leads(&p, a, 0x40000000 + a % (2 * MIB),
			    2 * MIB - a % (2 * MIB)));
		set64(0x2000, a >> 30 & 511, 0x1000000000 | 0xe7);
		CHECK(leads(&p, a, 0x1000000000 + a % GIB, GIB - a % GIB));
		set64(0x2000, a >> 30 & 511, 0x3000 | 0x66);
		CHECK(absent(&p, a));
		set64(0x1000, a >> 39 & 511, 0x800000 | 0x67);
		CHECK(missing(&p, a));
	}
}

static void test_five_levels(void)
{
	struct ow_paging p = ow_paging_x86(PG, 0x1000, PAE | LA57, LMA);
	const uint64_t a = 0xff12345678901000;

	clear();
	set64(0x1000, a >> 48 & 511, 0x2000 | 1);
	set64(0x2000, a >> 39 & 511, 0x3000 | 1);
	set64(0x3000, a >> 30 & 511, 0x4000 | 1);
	set64(0x4000, a >> 21 & 511, 0x5000 | 1);
	set64(0x5000, a >> 12 & 511, 0x7000 | 1);
	CHECK(leads(&p, a + 8, 0x7008, PAGE - 8));
	CHECK(absent(&p, a ^ (1ULL << 56)) && absent(&p, a ^ (1ULL << 57)));
}

/* The top table has 4 entries and needs no page of its own. */
static void test_pae(void)
{
	struct ow_paging p = ow_paging_x86(PG, 0x1fe0, PAE, 0);
	const uint64_t a = 0xc0123000;

	clear();
	set64(0x1fe0, 3, 0x2001);
	set64(0x2000, a >> 21 & 511, 0x3067);
	set64(0x3000, a >> 12 & 511, 0x812345000 | NX | 0x67);
	CHECK(leads(&p, a + 4, 0x812345004, PAGE - 4));
	CHECK(absent(&p, a - GIB) && absent(&p, a + (1ULL << 32)));
	CHECK(absent(&p, a | 0xffffffff00000000));
	set64(0x2000, a >> 21 & 511, 0x200000000 | 0xe7);
	CHECK(leads(&p, a, 0x200000000 + a % (2 * MIB),
		    2 * MIB - a % (2 * MIB)));
}

static void test_x86_32(void)
{
	struct ow_paging p = ow_paging_x86(PG, 0x1000, 0, 0);
	const uint64_t a = 0xc0123000;

	clear();
	set32(0x1000, a >> 22, 0x2067);
	set32(0x2000, a >> 12 & 1023, 0xfedcb067);
	CHECK(leads(&p, a + 1, 0xfedcb001, PAGE - 1));
	/* 4 MiB, with bits 32 to 39 of the address in 13 to 20. */
	set32(0x1000, a >> 22, 0xff400000 | 0x5 << 13 | 0xe7);
	CHECK(leads(&p, a, 0x5ff400000 + a % (4 * MIB),
		    4 * MIB - a % (4 * MIB)));
	CHECK(absent(&p, 0));
}

#define TG0_64K (1ULL << 14)
#define TG0_16K (2ULL << 14)
#define TG1_16K (1ULL << 30)
#define TG1_4K  (2ULL << 30)
#define TG1_64K (3ULL << 30)
#define TBI1    (1ULL << 38)

/* TTBRs carry an ASID, and a bit for sharing. */
#define TTBR(at) (0x00ab000000000001ULL | (at))

static void test_aarch64_4k(void)
{
	/* 48 bits below, 39 above. */
	struct ow_paging p = ow_paging_aarch64(1, TG1_4K | 25ULL << 16 | 16,
					       TTBR(0x1000), TTBR(0x8000));
	const uint64_t low = 0x0000aaaabbbbc000, high = 0xffffffc012345000;

	clear();
	CHECK(p.low.levels == 4 && p.high.levels == 3);
	set64(0x1000, low >> 39 & 511, 0x2003);
	set64(0x2000, low >> 30 & 511, 0x3003);
	set64(0x3000, low >> 21 & 511, 0x4003);
	set64(0x4000, low >> 12 & 511, 0x0060123456789f43);
	CHECK(leads(&p, low + 2, 0x123456789002, PAGE - 2));
	set64(0x8000, high >> 30 & 511, 0x9003);
	set64(0x9000, high >> 21 & 511, 0xa003);
	set64(0xa000, high >> 12 & 511, 0x7703);
	CHECK(leads(&p, high, 0x7000, PAGE));
	CHECK(absent(&p, high & ~(1ULL << 45)));
	CHECK(absent(&p, low | 1ULL << 48) && absent(&p, low | 1ULL << 56));
	/* Blocks of 2 MiB and 1 GiB; none where pages are. */
	set64(0x9000, high >> 21 & 511, 0x40200000 | 0x701);
	CHECK(leads(&p, high, 0x40200000 + high % (2 * MIB),
		    2 * MIB - high % (2 * MIB)));
	set64(0x8000, high >> 30 & 511, 0x80000000 | 0x701);
	CHECK(leads(&p, high, 0x80000000 + high % GIB, GIB - high % GIB));
	set64(0x4000, low >> 12 & 511, 0x5001);
	CHECK(absent(&p, low));
	set64(0x1000, low >> 39 & 511, 0x80000000 | 1);
	CHECK(absent(&p, low));
}

static void test_aarch64_16k(void)
{
	/* 47 bits in both halves: three levels. */
	struct ow_paging p =
		ow_paging_aarch64(1, TG0_16K | TG1_16K | 17ULL << 16 | 17,
				  TTBR(0x4000), TTBR(0x10000));
	const uint64_t high = 0xffffa00123454000;

	clear();
	CHECK(p.granule == 14 && p.high.levels == 3);
	set64(0x10000, high >> 36 & 2047, 0x14003);
	set64(0x14000, high >> 25 & 2047, 0x18003);
	set64(0x18000, high >> 14 & 2047, 0x12344703);
	CHECK(leads(&p, high + 0x2abc, 0x12344000 + 0x2abc, 0x4000 - 0x2abc));
	set64(0x14000, high >> 25 & 2047, 0x42000701);
	CHECK(leads(&p, high, 0x42000000 + high % (32 * MIB),
		    32 * MIB - high % (32 * MIB)));
	CHECK(absent(&p, high - 64 * MIB));
}

static void test_aarch64_64k(void)
{
	/* 42 bits: two levels; 52 bits of physical addresses. */
	struct ow_paging p =
		ow_paging_aarch64(1, TG0_64K | TG1_64K | 22ULL << 16 | 22,
				  TTBR(0x10000), TTBR(0x20000));
	const uint64_t high = 0xfffffe0012340000;

	clear();
	CHECK(p.granule == 16 && p.high.levels == 2);
	set64(0x20000, high >> 29 & 8191, 0x30003);
	set64(0x30000, high >> 16 & 8191, 0x56780000 | 0x703);
	CHECK(leads(&p, high + 0xabcd, 0x5678abcd, 0x10000 - 0xabcd));
	set64(0x30000, high >> 16 & 8191, 0x56780000 | 0x9000 | 0x703);
	CHECK(leads(&p, high, 0x9000056780000, 0x10000));
	set64(0x20000, high >> 29 & 8191, 0x40000701);
	CHECK(leads(&p, high, 0x40000000 + high % (512 * MIB),
		    512 * MIB - high % (512 * MIB)));
}

/* Few bits leave the top table a part of a page; tags are no address. */
static void test_aarch64_odd(void)
{
	struct ow_paging p = ow_paging_aarch64(
		1, TG1_4K | TBI1 | 28ULL << 16 | 1 << 7, 0, TTBR(0x8e00));
	const uint64_t high = 0xfffffffc00000000;

	clear();
	CHECK(p.high.levels == 3 && p.low.levels == 0);
	/* The top table has 64 entries. */
	set64(0x8e00, 48, 0x9003);
	set64(0x9000, 0, 0xa003);
	set64(0xa000, 0, 0x7003);
	CHECK(leads(&p, high, 0x7000, PAGE));
	CHECK(leads(&p, high & ~(0x5aULL << 56), 0x7000, PAGE));
	CHECK(absent(&p, high & ~(1ULL << 55)));
	CHECK(absent(&p, 0x1000));
	/* Sizes that there are none of. */
	p = ow_paging_aarch64(1, TG1_4K | 60ULL << 16 | 3, 0, 0);
	CHECK(p.low.levels == 0 && p.high.levels == 0);
}

#define EAE 0x80000000u

static void test_arm_long(void)
{
	struct ow_paging p = ow_paging_arm(1, EAE, 0x1fe0, 0);
	const uint64_t a = 0xc0123000;

	clear();
	set64(0x1fe0, 3, 0x2003);
	set64(0x2000, a >> 21 & 511, 0x3003);
	set64(0x3000, a >> 12 & 511, 0x8765432000 | 0x703);
	CHECK(leads(&p, a + 16, 0x8765432010, PAGE - 16));
	set64(0x2000, a >> 21 & 511, 0x8000000000 | 0x701);
	CHECK(leads(&p, a, 0x8000000000 + a % (2 * MIB),
		    2 * MIB - a % (2 * MIB)));
	CHECK(absent(&p, a + (1ULL << 32)));
	/* T1SZ 2: the uppermost GiB by TTBR1, whose top table is the second. */
	p = ow_paging_arm(1, EAE | 2 << 16, 0x1fe0, 0x4000);
	set64(0x4000, a >> 21 & 511, 0x5003);
	set64(0x5000, a >> 12 & 511, 0x6703);
	CHECK(p.high.levels == 2);
	CHECK(leads(&p, a, 0x6000, PAGE));
	set64(0x1fe0, 1, 0x2003);
	set64(0x2000, a >> 21 & 511, 0x40000701);
	CHECK(leads(&p, 0x40123000, 0x40123000, 2 * MIB - 0x123000));
}

static void test_arm_short(void)
{
	struct ow_paging p = ow_paging_arm(1, 0, 0x4000 | 0x59, 0);
	const uint64_t a = 0xc0123000;

	clear();
	set32(0x4000, a >> 20, 0x8000 | 0x1e1);
	set32(0x8000, a >> 12 & 255, 0x12345000 | 0x55e);
	CHECK(leads(&p, a + 0xffc, 0x12345ffc, 4));
	/* 64 KiB, whose entry is there 16 times. */
	set32(0x8000, a >> 12 & 255, 0x23450000 | 0x555);
	CHECK(leads(&p, a, 0x23450000 + a % 0x10000, 0x10000 - a % 0x10000));
	/* 1 MiB, and 16 MiB with bits 32 to 39 elsewhere. */
	set32(0x4000, a >> 20, 0x34500000 | 0xc0e);
	CHECK(leads(&p, a, 0x34500000 + a % MIB, MIB - a % MIB));
	set32(0x4000, a >> 20, 0x41000000 | 2 << 20 | 0x40000 | 3 << 5 | 2);
	CHECK(leads(&p, a, 0x3241000000 + a % (16 * MIB),
		    16 * MIB - a % (16 * MIB)));
	set32(0x4000, a >> 20, 0);
	CHECK(absent(&p, a) && absent(&p, a + (1ULL << 32)));
}

/* N of 2: the lowest GiB has a table of its own, of 4 KiB. */
static void test_arm_split(void)
{
	struct ow_paging p = ow_paging_arm(1, 2, 0x1000, 0x8000);

	clear();
	set32(0x1000, 0x12300000 >> 20, 0x45600000 | 2);
	set32(0x8000, 0x40000000 >> 20, 0x78900000 | 2);
	set32(0x8000, 0xfff00000 >> 20, 0x99900000 | 2);
	CHECK(leads(&p, 0x12300010, 0x45600010, MIB - 16));
	CHECK(leads(&p, 0x40000000, 0x78900000, MIB));
	CHECK(leads(&p, 0xfffffffc, 0x999ffffc, 4));
	CHECK(absent(&p, 0x12400000));
	/* Without the lower one, nobody has what is below. */
	p = ow_paging_arm(1, 2 | 0x10, 0x1000, 0x8000);
	set32(0x8000, 0x12300000 >> 20, 0x45600000 | 2);
	CHECK(absent(&p, 0x12300010));
	CHECK(leads(&p, 0x40000000, 0x78900000, MIB));
}

/* A table that is its own next one ends after as many levels as there are. */
static void test_loops(void)
{
	struct ow_paging p = ow_paging_x86(PG, 0x1000, PAE, LMA);
	size_t i;

	clear();
	for (i = 0; i < 512; i++)
		set64(0x1000, i, 0x1001);
	CHECK(leads(&p, 0x123456789abc, 0x1abc, PAGE - 0xabc));
}

static const struct test tests[] = {
	{ "no paging", test_off },
	{ "x86-64, four levels", test_x86_64 },
	{ "x86-64, five levels", test_five_levels },
	{ "x86, PAE", test_pae },
	{ "x86, two levels", test_x86_32 },
	{ "AArch64, 4 KiB", test_aarch64_4k },
	{ "AArch64, 16 KiB", test_aarch64_16k },
	{ "AArch64, 64 KiB", test_aarch64_64k },
	{ "AArch64, small and tagged", test_aarch64_odd },
	{ "Arm, long descriptors", test_arm_long },
	{ "Arm, short descriptors", test_arm_short },
	{ "Arm, two tables", test_arm_split },
	{ "loops", test_loops },
};

int main(void)
{
	return test_main(tests, OW_ARRAY_SIZE(tests));
}
