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
	BLOCK = OW_TABLE_BLOCK,

	/* where the parts of the table lie */
	BLOCKS = sizeof(struct ow_table_head),
	SETS = BLOCKS + 5 * 4,
	ROWS = SETS + 4 * 4,
	CODES = ROWS + 4 * BLOCK + 2,
	SAVES = CODES + 6 * 3,
	SEQS = SAVES + 2,
	SIZE = SEQS + 12,

	ENTRY_RULE = OW_TABLE_FIRST,
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
		.build_id = { 1, 2, 3 },
		.rows_size = 4 * BLOCK + 2,
		.seqs_size = 12,
		.nr_codes = 6,
		.nr_sets = 4,
		.saves_size = 2,
		.word = word,
		.ra = RIP,
	};

	put_block(&b, &head, sizeof(head));
}

static void put_set(uint16_t saves, uint8_t head, uint8_t reg)
{
	put(&b, 2, saves);
	put(&b, 1, head);
	put(&b, 1, reg);
}

static void put_rows(void)
{
	static const uint8_t blocks[4][BLOCK] = {
		{ 1, FUNCTION_SEQ },
		{ 1, ENTRY_RULE },
		{ 2, 0x10, OW_TABLE_NONE, OW_TABLE_ESCAPE },
		/* 0x1000 is 0xc0 + 0x0f40 */
		{ 2, 0xcf, SIGNAL_RULE, OTHER_SEQ, 0x40 },
	};
	static const uint8_t last[] = { 1, FUNCTION_SEQ };

	put_block(&b, blocks, sizeof(blocks));
	put_block(&b, last, sizeof(last));
}

static void put_codes(void)
{
	put(&b, 3, OW_TABLE_RULE(0, 1));
	put(&b, 3, OW_TABLE_RULE(1, 2));
	put(&b, 3, OW_TABLE_RULE(2, 2));
	put(&b, 3, OW_TABLE_RULE(3, OW_TABLE_MAX_WORDS));
	put(&b, 3, OW_TABLE_SEQ(0));
	put(&b, 3, OW_TABLE_SEQ(6));
}

/* Five blocks; seven rows, three of which are sequences. */
static void build(void)
{
	static const uint8_t seqs[] = {
		3, 1, 3, ENTRY_RULE,    PUSHED_RULE,     BODY_RULE,
		3, 2, 3, OW_TABLE_NONE, OW_TABLE_ESCAPE, ENTRY_RULE,
	};

	b.size = 0;
	put_head(62, 8);
	put(&b, 4, 0x1000);
	put(&b, 4, 0xffff);
	put(&b, 4, 0x20000);
	put(&b, 4, 0x28000);
	put(&b, 4, 0x2fff0);
	put_set(0, OW_TABLE_SET_RA, RSP);     /* ra at cfa-8 */
	put_set(0, OW_TABLE_SET_RA | 1, RSP); /* and rbp at cfa-16 */
	put_set(0, OW_TABLE_SET_RA | 1, RBP);
	put_set(2, OW_TABLE_SET_SIGNAL | OW_TABLE_SET_OUTERMOST, RSP);
	put_rows();
	put_codes();
	put(&b, 1, RBP);
	put(&b, 1, 0xfe);
	put_block(&b, seqs, sizeof(seqs));
}

/* In brief is what the row is in brief; without a caller there is none. */
static void check_brief(uint64_t vaddr, const struct ow_row *row)
{
	struct ow_brief direct, made;
	struct ow_table_look l;

	CHECK(ow_table_code(&table, vaddr, &l) == 0);
	CHECK(l.last == !!(row->flags & OW_ROW_LAST));
	CHECK(ow_table_brief(&table, l.code, &direct) ==
	      !(row->flags & OW_ROW_OUTERMOST));
	CHECK(ow_brief_make(&made, table.arch, row));
	CHECK(row->flags & OW_ROW_OUTERMOST ||
	      memcmp(&direct, &made, sizeof(made)) == 0);
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
	check_brief(vaddr, &row);
	say_row(&t, table.arch, &row);
	return &t;
}

#define ENTRY  "cfa=rsp+8 rip=[cfa-8]"
#define PUSHED "cfa=rsp+16 rip=[cfa-8] rbp=[cfa-16]"
#define BODY   "cfa=rbp+16 rip=[cfa-8] rbp=[cfa-16]"
#define SIGNAL "cfa=rsp+65528 signal outermost"

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
	/* holds on up to the next block */
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
	/* the last one holds on; tables that are made end with a hole */
	{ BASE + 0xffffffffULL, BODY },
	{ BASE + 0x100000000ULL, "ENOENT" },
	{ ~(uint64_t)0, "ENOENT" },
};

static void test_look_up(void)
{
	size_t i;

	build();
	CHECK(b.size == SIZE);
	CHECK(ow_table_open(&table, b.at, b.size) == 0);
	CHECK(table.arch == &ow_arch_x86_64 && table.nr_blocks == 5);
	CHECK(ow_table_verify(&table) == 0);
	for (i = 0; i < OW_ARRAY_SIZE(lookups); i++)
		CHECK_TEXT(look_up(lookups[i].vaddr), lookups[i].want);
}

static void test_listing(void)
{
	static const struct {
		uint64_t off;
		uint32_t code;
	} want[] = {
		{ 0x1000, ENTRY_RULE },       { 0x1001, PUSHED_RULE },
		{ 0x1004, BODY_RULE },        { 0xffff, ENTRY_RULE },
		{ 0x20000, OW_TABLE_NONE },   { 0x20010, OW_TABLE_ESCAPE },
		{ 0x28000, SIGNAL_RULE },     { 0x29000, OW_TABLE_NONE },
		{ 0x29002, OW_TABLE_ESCAPE }, { 0x29005, ENTRY_RULE },
		{ 0x2fff0, ENTRY_RULE },      { 0x2fff1, PUSHED_RULE },
		{ 0x2fff4, BODY_RULE },
	};

	struct ow_table_pos pos = { .block = 0 };
	size_t i;

	build();
	CHECK(ow_table_open(&table, b.at, b.size) == 0);
	CHECK(ow_table_nr_rules(&table) == 4);
	for (i = 0; i < OW_ARRAY_SIZE(want); i++) {
		CHECK(ow_table_next(&table, &pos) == 1);
		CHECK(pos.off == want[i].off && pos.code == want[i].code);
	}
	CHECK(ow_table_next(&table, &pos) == 0);
	CHECK(ow_table_next(&table, &pos) == 0);
}

/* One block, whose distances and codes are of one and of two bytes. */
static void build_long(void)
{
	static const uint8_t rows[] = {
		6,
		/* distances: 1, 191, 192, 0xc0 + 0x3f01, 5 */
		1, 0xbf, 0xc0, 0xff, 5,
		/* codes: 3, 191, 192, 0xc0 + 0x107, 3, and 0: no CFI */
		3, 0xbf, 0xc0, 0xc1, 3, OW_TABLE_NONE,
		/* the second bytes, in that order */
		0, 0x01, 0, 0x07
	};
	uint32_t i;

	b.size = 0;
	put_head(62, 8);
	patch(&b, 32, 4, sizeof(rows));
	patch(&b, 36, 4, 0);   /* sequences */
	patch(&b, 40, 2, 500); /* codes */
	patch(&b, 42, 2, 1);   /* sets */
	patch(&b, 44, 2, 0);   /* saves */
	put(&b, 4, 0);
	put_set(0, OW_TABLE_SET_RA, RSP);
	put_block(&b, rows, sizeof(rows));
	for (i = 0; i < 500; i++)
		put(&b, 3, OW_TABLE_RULE(0, OW_TABLE_FIRST + i));
}

static void test_long_numbers(void)
{
	static const struct {
		uint64_t off;
		const char *want; /* the code by 8 */
	} cases[] = {
		{ 0, "cfa=rsp+24 rip=[cfa-8]" },
		{ 1, "cfa=rsp+1528 rip=[cfa-8]" },
		{ 191, "cfa=rsp+1528 rip=[cfa-8]" },
		{ 192, "cfa=rsp+1536 rip=[cfa-8]" },
		{ 383, "cfa=rsp+1536 rip=[cfa-8]" },
		{ 384, "cfa=rsp+3640 rip=[cfa-8]" },
		{ 384 + 0x3fc0, "cfa=rsp+3640 rip=[cfa-8]" },
		{ 384 + 0x3fc1, "cfa=rsp+24 rip=[cfa-8]" },
		{ 384 + 0x3fc5, "cfa=rsp+24 rip=[cfa-8] last" },
		{ 384 + 0x3fc6, "ENOENT" },
	};

	size_t i;

	build_long();
	CHECK(ow_table_open(&table, b.at, b.size) == 0);
	CHECK(ow_table_verify(&table) == 0);
	for (i = 0; i < OW_ARRAY_SIZE(cases); i++)
		CHECK_TEXT(look_up(BASE + cases[i].off), cases[i].want);
	/* A row more than there is: a code's second byte is missing. */
	patch(&b, BLOCKS + 8, 1, 7);
	CHECK(ow_table_verify(&table) == -OW_EFORMAT);
	CHECK_TEXT(look_up(BASE + 1), "EFORMAT");
}

/* A code of its own, which is put in brief no more than its row is. */
static void test_signal_frame(void)
{
	struct text t = { .size = 0 };
	struct ow_table_look l;
	struct ow_brief brief;
	struct ow_row row;

	build();
	patch(&b, ROWS + 2 * BLOCK + 3, 1, OW_TABLE_SIGNAL);
	CHECK(ow_table_open(&table, b.at, b.size) == 0);
	CHECK(ow_table_verify(&table) == 0);
	CHECK(ow_table_row(&table, BASE + 0x20010, &row, rules) == 0);
	CHECK(row.how == OW_HOW_SIGNAL && row.ra == RIP);
	say_row(&t, table.arch, &row);
	CHECK_TEXT(&t, "cfa=[rsp+160] r8=[rsp+40] r9=[rsp+48] r10=[rsp+56] "
		       "r11=[rsp+64] r12=[rsp+72] r13=[rsp+80] r14=[rsp+88] "
		       "r15=[rsp+96] rdi=[rsp+104] rsi=[rsp+112] "
		       "rbp=[rsp+120] rbx=[rsp+128] rdx=[rsp+136] "
		       "rax=[rsp+144] rcx=[rsp+152] rip=[rsp+168] signal");
	CHECK(ow_table_code(&table, BASE + 0x20010, &l) == 0);
	CHECK(l.code == OW_TABLE_SIGNAL);
	CHECK(!ow_table_brief(&table, l.code, &brief));
}

static void test_32_bits(void)
{
	struct text t = { .size = 0 };
	struct ow_row row;

	build();
	patch(&b, 6, 2, 3);
	patch(&b, 46, 1, 4); /* word */
	CHECK(ow_table_open(&table, b.at, b.size) == -OW_EUNSUPPORTED);
	patch(&b, 47, 1, 8); /* ra: eip */
	CHECK(ow_table_open(&table, b.at, b.size) == 0);
	CHECK(table.arch == &ow_arch_i386);
	CHECK(ow_table_verify(&table) == 0);
	CHECK(ow_table_row(&table, BASE + 0x1001, &row, rules) == 0);
	say_row(&t, table.arch, &row);
	CHECK_TEXT(&t, "cfa=edi+8 eip=[cfa-4] esi=[cfa-8]");
	/* A slot that x86-64 has, but i386 not. */
	patch(&b, SAVES, 1, 9);
	CHECK(ow_table_verify(&table) == -OW_EFORMAT);
	CHECK(ow_table_row(&table, BASE + 0x1001, &row, rules) == -OW_EFORMAT);
}

/* The kernel's code lies less than 4 GiB from the end of all addresses. */
static void test_end_of_addresses(void)
{
	build();
	patch(&b, 16, 8, 0xffffffffffff0000);
	patch(&b, BLOCKS + 8, 4, 0x10000);
	CHECK(ow_table_open(&table, b.at, b.size) == 0);
	CHECK_TEXT(look_up(0xffffffffffff1000), ENTRY);
	CHECK_TEXT(look_up(0xffffffffffffefff), BODY);
	CHECK(ow_table_verify(&table) == -OW_EFORMAT); /* beyond the end */
	CHECK_TEXT(look_up(0), "ENOENT");
	/* The first block alone, cut: its sequence goes on up to the end. */
	patch(&b, 32, 4, 2);
	memmove(b.at + BLOCKS + 4, b.at + BLOCKS + 20, SIZE - BLOCKS - 20);
	memmove(b.at + BLOCKS + 4 + 16 + 2,
		b.at + BLOCKS + 4 + 16 + 4 * BLOCK + 2, SIZE - CODES);
	CHECK(ow_table_open(&table, b.at, SIZE - 16 - 4 * BLOCK) == 0);
	CHECK(ow_table_verify(&table) == 0);
	CHECK_TEXT(look_up(0xffffffffffffffff), BODY);
}

static void test_empty(void)
{
	build();
	memset(b.at + 32, 0, 14); /* all sizes */
	b.size = BLOCKS;
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
		{ 4, 2, 3, -OW_EUNSUPPORTED },     /* version */
		{ 4, 2, 5, -OW_EUNSUPPORTED },
		{ 6, 2, 40, -OW_EUNSUPPORTED },        /* machine */
		{ 32, 4, 4 * BLOCK + 3, -OW_EFORMAT }, /* rows */
		{ 32, 4, 5 * BLOCK + 1, -OW_EFORMAT },
		{ 32, 4, 0xffffffff, -OW_EFORMAT },
		{ 36, 4, 13, -OW_EFORMAT }, /* sequences */
		{ 36, 4, 0xffffffff, -OW_EFORMAT },
		{ 40, 2, 5, -OW_EFORMAT }, /* codes */
		{ 40, 2, 0xffff, -OW_EFORMAT },
		{ 42, 2, 5, -OW_EFORMAT }, /* sets */
		{ 42, 2, 0xffff, -OW_EFORMAT },
		{ 44, 2, 3, -OW_EFORMAT }, /* saves */
		{ 44, 2, 0xffff, -OW_EFORMAT },
		{ 46, 1, 4, -OW_EUNSUPPORTED }, /* word */
		{ 46, 1, 0, -OW_EUNSUPPORTED },
		{ 47, 1, 17, -OW_EUNSUPPORTED }, /* ra */
	};

	size_t i;

	for (i = 0; i < OW_ARRAY_SIZE(cases); i++) {
		build();
		patch(&b, cases[i].off, cases[i].size, cases[i].value);
		table.nr_blocks = 77;
		CHECK(ow_table_open(&table, b.at, b.size) == cases[i].want);
		CHECK(table.nr_blocks == 77);
	}
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
		{ BLOCKS + 4, 4, 0x0fff, 0 },      /* not sorted */
		{ BLOCKS + 4, 4, 0x1000, 0 },      /* twice the same */
		{ BLOCKS + 4, 4, 0x1004, 0 },      /* before a last part */
		{ BLOCKS + 16, 4, 0x28fff, 0 },    /* before a last row */
		{ BLOCKS + 16, 4, 0xfffffffe, 0 }, /* parts beyond 4 GiB */
		{ ROWS, 1, 0, BASE + 0x1000 },     /* a block without rows */
		{ ROWS, 1, 33, BASE + 0x1000 },    /* with more than fit */
		{ ROWS + 4 * BLOCK, 1, 2, BASE + 0x2fff0 },
		{ ROWS + 1, 1, TOO_FAR, BASE + 0x1000 },
		{ ROWS + 1, 1, 0xff, BASE + 0x1000 }, /* two bytes, too far */
		{ ROWS + 4 * BLOCK + 1, 1, 0xc0, BASE + 0x2fff0 },
		{ ROWS + 2 * BLOCK + 1, 1, 0, 0 }, /* a distance of 0 */
		{ CODES, 3, OW_TABLE_RULE(4, 1), BASE + 0x1000 },
		{ CODES, 3, OW_TABLE_RULE(0x3ff, 1), BASE + 0x1000 },
		{ CODES, 3, OW_TABLE_SEQ(0), BASE + 0x1000 }, /* in itself */
		{ CODES + 12, 3, OW_TABLE_SEQ(12), BASE + 0x1000 },
		{ CODES + 12, 3, OW_TABLE_SEQ(OW_TABLE_MAX_SEQ),
		  BASE + 0x1000 },
		{ CODES + 12, 3, OW_TABLE_SEQ(9), BASE + 0x1000 }, /* 0 rows */
		{ SETS + 3, 1, 17, BASE + 0x1000 },   /* register */
		{ SETS + 2, 1, 0x22, BASE + 0x1000 }, /* too many saves */
		{ SETS + 2, 1, 0x3f, BASE + 0x1000 },
		{ SETS + 4, 2, 1, BASE + 0x1001 }, /* half a save */
		{ SETS + 4, 2, 0xffff, BASE + 0x1001 },
		{ SETS + 12, 2, 3, BASE + 0x28000 },
		{ SAVES, 1, 17, BASE + 0x1001 },    /* slot */
		{ SEQS, 1, 0, BASE + 0x1000 },      /* without a part */
		{ SEQS + 6, 1, 4, BASE + 0x29000 }, /* beyond all parts */
		{ SEQS + 3, 1, FUNCTION_SEQ, BASE + 0x1000 },
		{ SEQS + 3, 1, TOO_FAR, BASE + 0x1000 },
		{ SEQS + 1, 1, 0, 0 },                 /* not sorted */
		{ SEQS + 8, 1, 0xc0, BASE + 0x29005 }, /* no second byte */
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
		{ "listing", test_listing },
		{ "long numbers", test_long_numbers },
		{ "signal frame", test_signal_frame },
		{ "32 bits", test_32_bits },
		{ "end of addresses", test_end_of_addresses },
		{ "empty", test_empty },
		{ "heads refused", test_heads_refused },
		{ "every prefix", test_every_prefix },
		{ "bodies refused", test_bodies_refused },
		{ "every flipped bit", test_every_flipped_bit },
	};

	return test_main(tests, OW_ARRAY_SIZE(tests));
}
