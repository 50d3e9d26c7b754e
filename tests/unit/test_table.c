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
	SEQS = SETS + 3 * 2,
	PART_RULES = SEQS + 3 * 2,
	PART_PCS = PART_RULES + 6 * 2,
	SET_BYTES = PART_PCS + 6,
	SIZE = SET_BYTES + 5,

	/* rules, and what comes behind them */
	ENTRY_RULE = 2,
	PUSHED_RULE,
	BODY_RULE,
	SIGNAL_RULE,
	FUNCTION_SEQ,
	OTHER_SEQ,
	TOO_FAR,
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
		.sets_size = 5,
		.word = word,
		.ra = RIP,
		.nr_seqs = 2,
		.nr_parts = 6,
		.build_id = { 1, 2, 3 },
	};

	put_block(&b, &head, sizeof(head));
}

static void put_row(uint16_t pc, uint16_t rule)
{
	put(&b, 2, pc);
	put(&b, 2, rule);
}

static void put_seqs(void)
{
	static const uint16_t firsts[] = { 0, 3, 6 };
	static const uint16_t part_rules[] = {
		ENTRY_RULE,    PUSHED_RULE,     BODY_RULE,
		OW_TABLE_NONE, OW_TABLE_ESCAPE, ENTRY_RULE,
	};
	static const uint8_t pcs[] = { 0, 1, 4, 0, 2, 5 };

	put_block(&b, firsts, sizeof(firsts));
	put_block(&b, part_rules, sizeof(part_rules));
	put_block(&b, pcs, sizeof(pcs));
}

/* Three pages; the second has no row of its own. */
static void build(void)
{
	static const uint8_t sets[] = {
		OW_TABLE_SET_RA, /* ra at cfa-8 */
		OW_TABLE_SET_RA | 1,
		RBP,
		0xfe, /* and rbp at cfa-16 */
		OW_TABLE_SET_SIGNAL | OW_TABLE_SET_OUTERMOST,
	};

	b.size = 0;
	put_head(62, 8);
	put(&b, 4, 0); /* first rows of the pages */
	put(&b, 4, 2);
	put(&b, 4, 2);
	put(&b, 4, 7);
	put_row(0x1000, FUNCTION_SEQ);
	put_row(0xffff, ENTRY_RULE);
	put_row(0x0000, OW_TABLE_NONE);
	put_row(0x0010, OW_TABLE_ESCAPE);
	put_row(0x8000, SIGNAL_RULE);
	put_row(0x9000, OTHER_SEQ);
	put_row(0xfff0, FUNCTION_SEQ);
	put(&b, 4, OW_TABLE_RULE(0, RSP, 1));
	put(&b, 4, OW_TABLE_RULE(1, RSP, 2));
	put(&b, 4, OW_TABLE_RULE(1, RBP, 2));
	put(&b, 4, OW_TABLE_RULE(2, RSP, -1));
	put(&b, 2, 0); /* where the sets begin */
	put(&b, 2, 1);
	put(&b, 2, 4);
	put_seqs();
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

#define ENTRY  "cfa=rsp+8 rip=[cfa-8]"
#define PUSHED "cfa=rsp+16 rip=[cfa-8] rbp=[cfa-16]"
#define BODY   "cfa=rbp+16 rip=[cfa-8] rbp=[cfa-16]"
#define SIGNAL "cfa=rsp-8 signal outermost"

static const struct {
	uint64_t vaddr;
	const char *want;
} lookups[] = {
	{ 0, "ENOENT" },
	{ BASE - 1, "ENOENT" },
	{ BASE, "ENOENT" },
	{ BASE + 0xfff, "ENOENT" },
	{ BASE + 0x1000, ENTRY },
	{ BASE + 0x1001, PUSHED },
	{ BASE + 0x1002, PUSHED },
	{ BASE + 0x1003, PUSHED },
	{ BASE + 0x1004, BODY },
	{ BASE + 0x1005, BODY },
	{ BASE + 0xfffe, BODY },
	/* holds on through the second page; the next row's pc is 0, too */
	{ BASE + 0xffff, ENTRY },
	{ BASE + 0x10000, ENTRY },
	{ BASE + 0x11003, ENTRY },
	{ BASE + 0x1fffe, ENTRY },
	{ BASE + 0x1ffff, ENTRY " last" },
	{ BASE + 0x20000, "ENOENT" },
	{ BASE + 0x2000f, "ENOENT" },
	{ BASE + 0x20010, "EUNSUPPORTED" },
	{ BASE + 0x27fff, "EUNSUPPORTED" },
	{ BASE + 0x28000, SIGNAL },
	{ BASE + 0x28ffe, SIGNAL },
	{ BASE + 0x28fff, SIGNAL " last" },
	/* a sequence that has holes */
	{ BASE + 0x29000, "ENOENT" },
	{ BASE + 0x29001, "ENOENT" },
	{ BASE + 0x29002, "EUNSUPPORTED" },
	{ BASE + 0x29004, "EUNSUPPORTED" },
	{ BASE + 0x29005, ENTRY },
	{ BASE + 0x2ffef, ENTRY },
	/* the first sequence again, at the end */
	{ BASE + 0x2fff0, ENTRY },
	{ BASE + 0x2fff3, PUSHED },
	{ BASE + 0x2fff4, BODY },
	{ BASE + 0x2ffff, BODY },
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
	static const struct {
		uint32_t row, part, parts;
		uint64_t want;
	} cases[] = {
		{ 0, 0, 3, 0x1000 },  { 0, 1, 3, 0x1001 },
		{ 0, 2, 3, 0x1004 },  { 1, 0, 1, 0xffff },
		{ 2, 0, 1, 0x20000 }, { 3, 0, 1, 0x20010 },
		{ 4, 0, 1, 0x28000 }, { 5, 2, 3, 0x29005 },
		{ 6, 2, 3, 0x2fff4 },
	};

	uint32_t parts;
	size_t i;

	build();
	CHECK(ow_table_open(&table, b.at, b.size) == 0);
	for (i = 0; i < OW_ARRAY_SIZE(cases); i++) {
		CHECK(ow_table_row_vaddr(&table, cases[i].row, cases[i].part,
					 &parts) == BASE + cases[i].want);
		CHECK(parts == cases[i].parts);
	}
}

static void test_32_bits(void)
{
	struct text t = { .size = 0 };
	struct ow_row row;

	build();
	patch(&b, 6, 2, 3);
	patch(&b, 38, 1, 4); /* word */
	CHECK(ow_table_open(&table, b.at, b.size) == -OW_EUNSUPPORTED);
	patch(&b, 39, 1, 8); /* ra: eip */
	CHECK(ow_table_open(&table, b.at, b.size) == 0);
	CHECK(table.arch == &ow_arch_i386);
	CHECK(ow_table_verify(&table) == 0);
	CHECK(ow_table_row(&table, BASE + 0x1001, &row, rules) == 0);
	say_row(&t, table.arch, &row);
	CHECK_TEXT(&t, "cfa=edi+8 eip=[cfa-4] esi=[cfa-8]");
	/* A slot that x86-64 has, but i386 not. */
	patch(&b, SET_BYTES + 2, 1, 9);
	CHECK(ow_table_verify(&table) == -OW_EFORMAT);
	CHECK(ow_table_row(&table, BASE + 0x1001, &row, rules) == -OW_EFORMAT);
}

static void test_empty(void)
{
	build();
	memset(b.at + 24, 0, 14); /* pages to sets_size */
	memset(b.at + 40, 0, 4);  /* sequences and parts */
	b.size = PAGES;
	put(&b, 4, 0);
	put(&b, 2, 0);
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
		{ 0, 4, 0x5442574e, -OW_EFORMAT }, /* magic */
		{ 4, 2, 2, -OW_EUNSUPPORTED },     /* version */
		{ 4, 2, 0, -OW_EUNSUPPORTED },
		{ 6, 2, 40, -OW_EUNSUPPORTED }, /* machine */
		{ 38, 1, 4, -OW_EUNSUPPORTED }, /* word */
		{ 38, 1, 0, -OW_EUNSUPPORTED },
		{ 39, 1, 17, -OW_EUNSUPPORTED },       /* ra */
		{ 16, 8, BASE + 0x8000, -OW_EFORMAT }, /* base */
		{ 24, 4, 4, -OW_EFORMAT },             /* pages */
		{ 24, 4, 0xffffffff, -OW_EFORMAT },
		{ 28, 4, 8, -OW_EFORMAT }, /* rows */
		{ 28, 4, 0xffffffff, -OW_EFORMAT },
		{ 32, 2, 5, -OW_EFORMAT }, /* rules */
		{ 32, 2, 0xffff, -OW_EFORMAT },
		{ 34, 2, 4, -OW_EFORMAT }, /* sets */
		{ 36, 2, 6, -OW_EFORMAT },
		{ 36, 2, 0xffff, -OW_EFORMAT },
		{ 40, 2, 3, -OW_EFORMAT }, /* sequences */
		{ 40, 2, 0xffff, -OW_EFORMAT },
		{ 42, 2, 7, -OW_EFORMAT }, /* parts */
		{ 42, 2, 0xffff, -OW_EFORMAT },
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
	put_to(&b, SIZE + 2 * (1025 - 3));
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
		{ PAGES, 4, 1, 0 },        /* not from row 0 */
		{ PAGES, 4, 5, BASE },     /* after its end */
		{ PAGES + 4, 4, 8, BASE }, /* more than there are */
		{ PAGES + 8, 4, 1, BASE + 0x10000 },
		{ PAGES + 12, 4, 6, 0 }, /* not up to the last */
		{ PAGES + 12, 4, 8, BASE + 0x20000 },
		{ ROWS + 4, 2, 0x0fff, 0 },  /* not sorted */
		{ ROWS + 4, 2, 0x1000, 0 },  /* twice the same */
		{ ROWS + 4, 2, 0x1004, 0 },  /* before a last part */
		{ ROWS + 24, 2, 0xfffc, 0 }, /* parts in the next page */
		{ ROWS + 6, 2, TOO_FAR, BASE + 0xffff },
		{ ROWS + 6, 2, 0xffff, BASE + 0xffff },
		{ RULES, 4, OW_TABLE_RULE(3, RSP, 1), BASE + 0x1000 },
		{ RULES, 4, OW_TABLE_RULE(0x3ff, RSP, 1), BASE + 0x1000 },
		{ RULES, 4, OW_TABLE_RULE(0, 17, 1), BASE + 0x1000 },
		{ RULES, 4, OW_TABLE_RULE(0, 63, 1), BASE + 0x1000 },
		{ SETS, 2, 5, BASE + 0x1000 }, /* no room for it */
		{ SETS, 2, 0xffff, BASE + 0x1000 },
		{ SET_BYTES, 1, 0x23, BASE + 0x1000 }, /* nor for pairs */
		{ SET_BYTES, 1, 0x3f, BASE + 0x1000 },
		{ SET_BYTES + 2, 1, 17, BASE + 0x1001 }, /* slot */
		{ SEQS, 2, 1, 0 }, /* doesn't begin at 0 bytes */
		{ SEQS + 2, 2, 0, BASE + 0x1000 },  /* without a part */
		{ SEQS + 4, 2, 7, BASE + 0x29000 }, /* beyond all parts */
		{ PART_RULES, 2, FUNCTION_SEQ, BASE + 0x1000 },
		{ PART_RULES, 2, 0xffff, BASE + 0x1000 },
		{ PART_PCS + 1, 1, 0, 0 }, /* not sorted */
		{ PART_PCS + 2, 1, 1, 0 },
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

static void test_longest_sequence(void)
{
	unsigned int nr, i;

	for (nr = OW_TABLE_MAX_PARTS; nr <= OW_TABLE_MAX_PARTS + 1; nr++) {
		int want = nr > OW_TABLE_MAX_PARTS ? -OW_EFORMAT : 0;

		build();
		patch(&b, 40, 2, 1);
		patch(&b, 42, 2, nr);
		b.size = SEQS;
		put(&b, 2, 0);
		put(&b, 2, nr);
		for (i = 0; i < nr; i++)
			put(&b, 2, ENTRY_RULE + i % 3);
		for (i = 0; i < nr; i++)
			put(&b, 1, i);
		put_block(&b, (const uint8_t[]){ 0x20, 0x21, RBP, 0xfe, 0xc0 },
			  5);
		patch(&b, ROWS + 20, 2, 0xff00); /* the other sequence's row */
		patch(&b, ROWS + 22, 2, ENTRY_RULE);
		patch(&b, ROWS + 24, 2, 0xff80);
		CHECK(ow_table_open(&table, b.at, b.size) == 0);
		CHECK(ow_table_verify(&table) == want);
		CHECK_TEXT(look_up(BASE + 0x1000 + 15),
			   want ? "EFORMAT" : ENTRY);
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
		{ "longest sequence", test_longest_sequence },
		{ "every flipped bit", test_every_flipped_bit },
	};

	return test_main(tests, OW_ARRAY_SIZE(tests));
}
