// SPDX-License-Identifier: BSD-2-Clause
/* What names of files take, of line tables as they are and as they may be. */
#include "unitcost.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "test.h"

#define EACH 40      /* bytes for a file, beside its name */
#define MUCH 1000000 /* steps */

#define HEAD \
	1, 1, 1, 0xfb, 14, 13, 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1 /* lengths */

static uint64_t cost_of(const uint8_t *lines, size_t size, size_t folder,
			uint64_t most)
{
	static const uint8_t strings[] = "main.c\0/usr/include\0stdio.h";
	const struct ow_unitcost c = {
		.lines = lines,
		.lines_size = size,
		.line_strings = strings,
		.line_strings_size = sizeof(strings),
	};

	uint64_t work = MUCH;

	return ow_unitcost_files(&c, 0, folder, most, &work);
}

static void test_dwarf4(void)
{
	static const uint8_t table[] = {
		58, 0, 0, 0, 4, 0, 40, 0, 0, 0, HEAD,
		/* folders, files with a folder, a time and a size */
		'd', 'i', 'r', 0, 'd', 0, 0, 'a', '.', 'c', 0, 1, 0, 0, 'b',
		'.', 'h', 0, 2, 0, 0, 0,
		/* a special opcode, a file's definition, an operand, the end */
		200, 0, 5, 3, 'x', 0, 1, 0, 9, 1, 0, 0, 1, 1
	};

	CHECK(cost_of(table, sizeof(table), 10, 1000) ==
	      3 * (EACH + 3 + 10) + 3 + 3 + 1);
	CHECK(cost_of(table, sizeof(table), 1000, 1000) == 1001);
	for (size_t i = 0; i < sizeof(table); i++)
		CHECK(cost_of(table, i, 10, 1000) <= 3 * (EACH + 13) + 7);
}

static void test_dwarf5(void)
{
	static const uint8_t table[] = {
		57, 0, 0, 0, 5, 0, 8, 0, 49, 0, 0, 0, HEAD,
		/* two folders, by references */
		1, 1, 0x1f, 2, 0, 0, 0, 0, 7, 0, 0, 0,
		/* two files, by references, with a folder */
		2, 1, 0x1f, 2, 0x0b, 2, 0, 0, 0, 0, 0, 20, 0, 0, 0, 1, 0, 0, 0,
		200
	};

	CHECK(cost_of(table, sizeof(table), 0, 1000) ==
	      2 * (EACH + 12) + 6 + 7);
	for (size_t i = 0; i < sizeof(table); i++)
		CHECK(cost_of(table, i, 0, 1000) <= 2 * (EACH + 12) + 13);
}

/* References to a long text, again and again: looking at it has an end. */
static void test_long_texts(void)
{
	static uint8_t table[100000] = { 0xfc, 0xff, 0xff, 0x7f, 5,   0,    8,
					 0,    0,    0,    0,    0,   HEAD, 1,
					 1,    0x1f, 0xff, 0xff, 0x3f };
	static char text[1 << 20];
	const struct ow_unitcost c = {
		.lines = table,
		.lines_size = sizeof(table),
		.line_strings = (const uint8_t *)text,
		.line_strings_size = sizeof(text),
	};

	uint64_t work = MUCH;

	memset(text, 'd', sizeof(text));
	CHECK(ow_unitcost_files(&c, 0, 0, 4 << 20, &work) == (4 << 20) + 1);
	/* Five of the texts, a step for 16 bytes, and the table itself. */
	CHECK(work < MUCH - 5 * 65536 && work > MUCH - 5 * 65536 - 120000);
	CHECK(ow_unitcost_files(&c, sizeof(table), 0, 1000, &work) == 0);
	/* One of the texts, and no more. */
	work = sizeof(table) + 65536;
	CHECK(ow_unitcost_files(&c, 0, 0, 1 << 30, &work) == (1 << 30) + 1);
	CHECK(work == 0);
}

/* A table of which nothing is there but its length: it isn't looked at. */
static void test_holes(void)
{
	static const uint8_t table[] = { 0xff, 0xff, 0xff, 0xff, 0, 0,
					 0,    0,    0,    1,    0, 0 };
	const struct ow_unitcost c = {
		.lines = table,
		.lines_size = (uint64_t)1 << 40,
	};
	uint64_t work = MUCH;

	CHECK(ow_unitcost_lines(&c, 0) == c.lines_size - sizeof(table));
	CHECK(ow_unitcost_files(&c, 0, 0, 1000, &work) == 1001 && work == 0);
}

/* Forms in 2,805 bytes, which are read again for each of 381 folders. */
static void test_long_forms(void)
{
	static uint8_t table[100000] = { 0xfc, 0xff, 0xff, 0x7f, 5, 0,   8,
					 0,    0,    0,    0,    0, HEAD };
	const struct ow_unitcost c = {
		.lines = table,
		.lines_size = sizeof(table),
	};
	uint8_t *at = table + 12 + 18;
	uint64_t work = 2 * MUCH;

	*at++ = 255;
	for (int i = 0; i < 255; i++) {
		*at++ = DW_LNCT_MD5;
		memset(at, 0x80, 9);
		at[0] |= DW_FORM_data1;
		at += 10;
	}
	*at++ = 0xff;
	*at++ = 0xff;
	*at++ = 3;
	CHECK(ow_unitcost_files(&c, 0, 0, 1 << 20, &work) <= 1 << 20);
	CHECK(work < 2 * MUCH - 381 * 2805 && work > MUCH / 2);
	work = MUCH;
	CHECK(ow_unitcost_files(&c, 0, 0, 1 << 20, &work) == (1 << 20) + 1);
	CHECK(work == 0);
}

/* A table of abbreviations 1, 2 and so on, of five bytes each, and the end. */
static size_t put_abbrevs(uint8_t *at, uint8_t nr)
{
	static const uint8_t rest[] = { 0x2e, 0, 0, 0 };
	uint8_t *begin = at;

	for (uint8_t code = 1; code <= nr; code++) {
		*at++ = code;
		memcpy(at, rest, sizeof(rest));
		at += sizeof(rest);
	}
	*at++ = 0;
	return (size_t)(at - begin);
}

static void test_abbrevs(void)
{
	static const uint8_t die[] = { 3 }, none[] = { 101 };
	uint8_t table[600];
	struct ow_unitcost c = {
		.info = die,
		.info_size = sizeof(die),
		.abbrevs = table,
		.abbrevs_size = put_abbrevs(table, 100),
	};

	CHECK(ow_unitcost_all_abbrevs(&c, 0, 1000) == 501);
	CHECK(ow_unitcost_all_abbrevs(&c, 0, 501) == 501);
	CHECK(ow_unitcost_all_abbrevs(&c, 500, 0) == 1);
	CHECK(ow_unitcost_abbrevs(&c, 0, 0, 1000) == 15);
	CHECK(ow_unitcost_abbrevs(&c, 0, 0, 15) == 15);
	c.info = none;
	CHECK(ow_unitcost_abbrevs(&c, 0, 0, 1000) == 501);
	CHECK(ow_unitcost_abbrevs(&c, 501, 0, 1000) == 0);
}

/* No byte is read beyond the most, wherever that is. */
static void test_abbrevs_end(void)
{
	static const uint8_t die[] = { 101 };
	uint8_t table[600];
	size_t size = put_abbrevs(table, 100);

	for (size_t most = 0; most < size; most++) {
		uint8_t *some = malloc(most + 1);
		const struct ow_unitcost c = {
			.info = die,
			.info_size = sizeof(die),
			.abbrevs = some + 1, /* what is after it is not there */
			.abbrevs_size = size,
		};

		memcpy(some + 1, table, most);
		CHECK(ow_unitcost_all_abbrevs(&c, 0, most) == most + 1);
		CHECK(ow_unitcost_abbrevs(&c, 0, 0, most) == most + 1);
		free(some);
	}
}

/* Numbers that are longer than they need be, as libdw reads them. */
static void test_long_numbers(void)
{
	static const uint8_t die[] = { 2 };
	static const uint8_t table[] = {
		/* code 0 in two bytes is no end; a name with a 65th bit */
		0x80, 0, 0x2e, 0, 0x83, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
		0x80, 0x80, 0x7e, 8, 0, 0,
		/* code 2, and 33 bits */
		0x82, 0x80, 0x80, 0x80, 0x10, 0x2e, 0, 0, 0, 1, 0x2e, 0, 0, 0, 0
	};
	const struct ow_unitcost c = {
		.info = die,
		.info_size = sizeof(die),
		.abbrevs = table,
		.abbrevs_size = sizeof(table),
	};

	CHECK(ow_unitcost_all_abbrevs(&c, 0, 1000) == sizeof(table));
	CHECK(ow_unitcost_abbrevs(&c, 0, 0, 1000) == sizeof(table) - 6);
}

int main(void)
{
	static const struct test tests[] = {
		{ "abbreviations", test_abbrevs },
		{ "no more abbreviations than asked for", test_abbrevs_end },
		{ "long numbers", test_long_numbers },
		{ "DWARF 4", test_dwarf4 },
		{ "DWARF 5", test_dwarf5 },
		{ "long texts", test_long_texts },
		{ "holes", test_holes },
		{ "long forms", test_long_forms },
	};

	return test_main(tests, sizeof(tests) / sizeof(tests[0]));
}
