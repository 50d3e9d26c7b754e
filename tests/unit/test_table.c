// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#include "bytes.h"
#include "sayrow.h"
#include "table.h"
#include "test.h"

enum {
	BASE = 0x400000,
	RBP = 6,
	RSP = 7,
	RIP = 16,

	/* where the parts of the table lie */
	PAGES = sizeof(struct ow_table_head),
	ROWS = PAGES + 4 * 4,
	RULES = ROWS + 7 * 4,
	SETS = RULES + 4 * 4,
	SET_BYTES = SETS + 3 * 2,
	SIZE = SET_BYTES + 15,
};

static struct bytes b;
static struct ow_table table;
static struct ow_rule rules[OW_MAX_REGS];

static void put_head(uint16_t machine, uint8_t word)
{
	const struct ow_table_head head = {
		.magic = OW_TABLE_MAGIC,
		.version = OW_TABLE_VERSION,
		.machine = machine,
		.base = BASE,
		.nr_pages = 3,
		.nr_rows = 7,
		.nr_rules = 4,
		.nr_sets = 3,
		.sets_size = 15,
		.word = word,
		.build_id = { 1, 2, 3 },
	};

	put_block(&b, &head, sizeof(head));
}

static void put_row(uint16_t pc, uint16_t rule)
{
	put(&b, 2, pc);
	put(&b, 2, rule);
}

/* Three pages; the second has no row of its own. */
static void build(void)
{
	static const uint8_t sets[] = {
		1, 0, RIP, RIP, 0xff,		 /* ra at cfa-8 */
		2, 0, RIP, RBP, 0xfe, RIP, 0xff, /* and rbp at cfa-16 */
		0, OW_ROW_SIGNAL | OW_ROW_OUTERMOST, RIP,
	};

	b.size = 0;
	put_head(62, 8);
	put(&b, 4, 0); /* first rows of the pages */
	put(&b, 4, 4);
	put(&b, 4, 4);
	put(&b, 4, 7);
	put_row(0x1000, 2);
	put_row(0x1001, 3);
	put_row(0x1004, 4);
	put_row(0xffff, 2);
	put_row(0x0000, OW_TABLE_ESCAPE);
	put_row(0x0010, OW_TABLE_NONE);
	put_row(0x8000, 5);
	put(&b, 4, OW_TABLE_RULE(0, RSP, 1));
	put(&b, 4, OW_TABLE_RULE(1, RSP, 2));
	put(&b, 4, OW_TABLE_RULE(1, RBP, 2));
	put(&b, 4, OW_TABLE_RULE(2, RSP, -1));
	put(&b, 2, 0); /* where the sets begin */
	put(&b, 2, 5);
	put(&b, 2, 12);
	put_block(&b, sets, sizeof(sets));
}

static const struct text *look_up(uint64_t vaddr)
{
	static struct text t;
	struct ow_row row = { .nr = 77 };
	int err = ow_table_row(&table, vaddr, &row, rules);

	t.size = 0;
	if (err) {
		say_err(&t, err);
		CHECK(row.nr == 77);
		return &t;
	}
	CHECK(row.how == OW_HOW_TABLE && row.rules == rules);
	CHECK(row.ra == RIP && !row.exprs);
	say_row(&t, table.arch, &row);
	return &t;
}

#define ENTRY "cfa=rsp+8 rip=[cfa-8]"
#define PUSHED "cfa=rsp+16 rbp=[cfa-16] rip=[cfa-8]"
#define BODY "cfa=rbp+16 rbp=[cfa-16] rip=[cfa-8]"
#define SIGNAL "cfa=rsp-8 signal outermost"

static const struct {
	uint64_t vaddr;
	const char *want;
} lookups[] = {
	{ 0, "ENOENT" },
	{ BASE - 1, "ENOENT" },
	{ BASE, "ENOENT" },
	{ BASE + 0xfff, "ENOENT" },
	{ BASE + 0x1000, ENTRY " last" },
	{ BASE + 0x1001, PUSHED },
	{ BASE + 0x1002, PUSHED },
	{ BASE + 0x1003, PUSHED " last" },
	{ BASE + 0x1004, BODY },
	{ BASE + 0xfffd, BODY },
	{ BASE + 0xfffe, BODY " last" },
	/* holds on through the second page; the next row's pc is 0, too */
	{ BASE + 0xffff, ENTRY },
	{ BASE + 0x10000, ENTRY },
	{ BASE + 0x11003, ENTRY },
	{ BASE + 0x1fffe, ENTRY },
	{ BASE + 0x1ffff, ENTRY " last" },
	{ BASE + 0x20000, "EUNSUPPORTED" },
	{ BASE + 0x2000f, "EUNSUPPORTED" },
	{ BASE + 0x20010, "ENOENT" },
	{ BASE + 0x27fff, "ENOENT" },
	{ BASE + 0x28000, SIGNAL },
	{ BASE + 0x2ffff, SIGNAL },
	{ BASE + 0x30000, "ENOENT" },
	{ ~(uint64_t)0, "ENOENT" },
};

static void test_look_up(void)
{
	size_t i;

	build();
	CHECK(b.size == SIZE);
	CHECK(ow_table_open(&table, b.at, b.size) == 0);
	CHECK(table.arch == &ow_arch_x86_64 && table.nr_rows == 7);
	CHECK(ow_table_verify(&table) == 0);
	for (i = 0; i < OW_ARRAY_SIZE(lookups); i++)
		CHECK_TEXT(look_up(lookups[i].vaddr), lookups[i].want);
}

static void test_row_vaddrs(void)
{
	static const uint64_t want[] = { 0x1000, 0x1001,  0x1004, 0xffff,
					 0x20000, 0x20010, 0x28000 };
	uint32_t i;

	build();
	CHECK(ow_table_open(&table, b.at, b.size) == 0);
	for (i = 0; i < OW_ARRAY_SIZE(want); i++)
		CHECK(ow_table_row_vaddr(&table, i) == BASE + want[i]);
}

static void test_32_bits(void)
{
	build();
	patch(&b, 6, 2, 3);
	patch(&b, 44, 1, 4);
	patch(&b, RULES, 4, OW_TABLE_RULE(0, 4, 1)); /* esp */
	patch(&b, SET_BYTES + 2, 2, 0x0808);	     /* ra: eip */
	CHECK(ow_table_open(&table, b.at, b.size) == 0);
	CHECK(table.arch == &ow_arch_i386);
	/* The other sets have slots that i386 hasn't. */
	CHECK(ow_table_verify(&table) == -OW_EFORMAT);
	CHECK_TEXT(look_up(BASE + 0x1001), "EFORMAT");
	{
		struct ow_row row;
		struct text t = { .size = 0 };

		CHECK(ow_table_row(&table, BASE + 0x1000, &row, rules) == 0);
		say_row(&t, table.arch, &row);
		CHECK_TEXT(&t, "cfa=esp+4 eip=[cfa-4] last");
	}
}

static void test_empty(void)
{
	build();
	b.size = PAGES;
	put(&b, 4, 0);
	patch(&b, 24, 4, 0); /* pages, rows, rules, sets */
	patch(&b, 28, 4, 0);
	patch(&b, 32, 4, 0);
	patch(&b, 36, 4, 0);
	CHECK(ow_table_open(&table, b.at, b.size) == 0);
	CHECK(ow_table_verify(&table) == 0);
	CHECK_TEXT(look_up(BASE), "ENOENT");
	CHECK_TEXT(look_up(BASE + 0x1000), "ENOENT");
}

static void test_heads_refused(void)
{
	static const struct {
		size_t off, size;
		uint64_t value;
		int want;
	} cases[] = {
		{ 0, 4, 0x5442574e, -OW_EFORMAT },	/* magic */
		{ 4, 2, 2, -OW_EUNSUPPORTED },		/* version */
		{ 4, 2, 0, -OW_EUNSUPPORTED },
		{ 6, 2, 40, -OW_EUNSUPPORTED },		/* machine */
		{ 44, 1, 4, -OW_EUNSUPPORTED },		/* word */
		{ 44, 1, 0, -OW_EUNSUPPORTED },
		{ 16, 8, BASE + 0x8000, -OW_EFORMAT },	/* base */
		{ 24, 4, 4, -OW_EFORMAT },		/* pages */
		{ 24, 4, 0xffffffff, -OW_EFORMAT },
		{ 28, 4, 8, -OW_EFORMAT },		/* rows */
		{ 28, 4, 0xffffffff, -OW_EFORMAT },
		{ 32, 2, 5, -OW_EFORMAT },		/* rules */
		{ 32, 2, 0xffff, -OW_EFORMAT },
		{ 34, 2, 4, -OW_EFORMAT },		/* sets */
		{ 36, 4, 16, -OW_EFORMAT },
		{ 36, 4, 0xffffffff, -OW_EFORMAT },
	};
	size_t i;

	for (i = 0; i < OW_ARRAY_SIZE(cases); i++) {
		build();
		patch(&b, cases[i].off, cases[i].size, cases[i].value);
		table.nr_rows = 77;
		CHECK(ow_table_open(&table, b.at, b.size) == cases[i].want);
		CHECK(table.nr_rows == 77);
	}
	/* More sets than a rule can name; the size would be right. */
	build();
	put_to(&b, SIZE + 2 * 1022);
	patch(&b, 34, 2, 1025);
	CHECK(ow_table_open(&table, b.at, b.size) == -OW_EFORMAT);
}

static void test_every_prefix(void)
{
	size_t size;

	build();
	for (size = 0; size < SIZE; size++) {
		uint8_t *bytes = exact(b.at, size);

		CHECK(ow_table_open(&table, bytes, size) == -OW_EFORMAT);
		free(bytes);
	}
	b.size++;
	CHECK(ow_table_open(&table, b.at, b.size) == -OW_EFORMAT);
}

/* Damage, and the look-up that meets it. */
static void test_bodies_refused(void)
{
	static const struct {
		size_t off, size;
		uint64_t value;
		uint64_t vaddr; /* or 0: only verify finds it */
	} cases[] = {
		{ PAGES, 4, 1, 0 },		       /* not from row 0 */
		{ PAGES, 4, 5, BASE },		       /* after its end */
		{ PAGES + 4, 4, 8, BASE },	       /* more than there are */
		{ PAGES + 8, 4, 3, BASE + 0x10000 },
		{ PAGES + 12, 4, 6, 0 },	       /* not up to the last */
		{ PAGES + 12, 4, 8, BASE + 0x20000 },
		{ ROWS, 2, 0x1002, 0 },		       /* not sorted */
		{ ROWS, 2, 0x1001, 0 },		       /* twice the same */
		{ ROWS + 2, 2, 6, BASE + 0x1000 },     /* rule */
		{ ROWS + 2, 2, 0xffff, BASE + 0x1000 },
		{ RULES, 4, OW_TABLE_RULE(3, RSP, 1), BASE + 0x1000 },
		{ RULES, 4, OW_TABLE_RULE(0x3ff, RSP, 1), BASE + 0x1000 },
		{ RULES, 4, OW_TABLE_RULE(0, 17, 1), BASE + 0x1000 },
		{ RULES, 4, OW_TABLE_RULE(0, 63, 1), BASE + 0x1000 },
		{ SETS, 2, 13, BASE + 0x1000 },	       /* no room for it */
		{ SETS, 2, 0xffff, BASE + 0x1000 },
		{ SET_BYTES, 1, 7, BASE + 0x1000 },    /* nor for its pairs */
		{ SET_BYTES, 1, 33, BASE + 0x1000 },
		{ SET_BYTES + 1, 1, OW_ROW_LAST, BASE + 0x1000 }, /* flags */
		{ SET_BYTES + 1, 1, 0x80, BASE + 0x1000 },
		{ SET_BYTES + 2, 1, 17, BASE + 0x1000 }, /* ra */
		{ SET_BYTES + 3, 1, 17, BASE + 0x1000 }, /* slot */
	};
	size_t i;

	for (i = 0; i < OW_ARRAY_SIZE(cases); i++) {
		build();
		patch(&b, cases[i].off, cases[i].size, cases[i].value);
		CHECK(ow_table_open(&table, b.at, b.size) == 0);
		CHECK(ow_table_verify(&table) == -OW_EFORMAT);
		if (cases[i].vaddr)
			CHECK_TEXT(look_up(cases[i].vaddr), "EFORMAT");
	}
}

/* Whatever verify lets pass, no look-up fails of. */
static void check_damaged(void)
{
	struct ow_row row;
	size_t i;
	int err;

	if (ow_table_open(&table, b.at, b.size))
		return;
	for (i = 0; i < OW_ARRAY_SIZE(lookups); i++) {
		err = ow_table_row(&table, lookups[i].vaddr, &row, rules);
		CHECK(err != -OW_EFORMAT || ow_table_verify(&table) != 0);
	}
}

static void test_every_flipped_bit(void)
{
	size_t bit;
	uint64_t sum;
	bool in_check;

	build();
	sum = ow_table_checksum(b.at, b.size);
	for (bit = 0; bit < 8 * b.size; bit++) {
		b.at[bit / 8] ^= (uint8_t)(1 << bit % 8);
		in_check = bit >= 8 * 8 && bit < 16 * 8;
		CHECK((ow_table_checksum(b.at, b.size) == sum) == in_check);
		check_damaged();
		b.at[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	CHECK(ow_table_checksum(b.at, b.size) == sum);
	/* Zeros at the end count, too. */
	put_to(&b, SIZE + 1);
	CHECK(ow_table_checksum(b.at, b.size) != sum);
}

int main(void)
{
	static const struct test tests[] = {
		{ "look-up", test_look_up },
		{ "vaddrs of rows", test_row_vaddrs },
		{ "32 bits", test_32_bits },
		{ "empty", test_empty },
		{ "heads refused", test_heads_refused },
		{ "every prefix", test_every_prefix },
		{ "bodies refused", test_bodies_refused },
		{ "every flipped bit", test_every_flipped_bit },
	};

	return test_main(tests, OW_ARRAY_SIZE(tests));
}
