// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* Linux's unwind data: each kind of entry, in both layouts. */
#include "orc.h"

#include "bytes.h"
#include "test.h"

#define IPS 0xffffffff82c5d53cULL

/* Entries begin at these, and have these words. */
struct line {
	uint64_t start;
	int16_t sp_off, bp_off;
	unsigned int sp_reg, bp_reg, type, flag; /* flag: end, or signal */
};

enum {
	UNDEFINED,
	PREV_SP,
	DX,
	DI,
	BP,
	SP,
	R10,
	R13,
	BP_IND,
	SP_IND
};

static struct bytes ips, entries;

static struct ow_orc make(const struct line *lines, size_t nr, bool has_signal)
{
	unsigned int shift = has_signal ? 11 : 10;
	size_t i;

	ips.size = entries.size = 0;
	for (i = 0; i < nr; i++) {
		put(&ips, 4, lines[i].start - (IPS + 4 * i));
		put(&entries, 2, (uint16_t)lines[i].sp_off);
		put(&entries, 2, (uint16_t)lines[i].bp_off);
		put(&entries, 2,
		    lines[i].sp_reg | lines[i].bp_reg << 4 |
			    lines[i].type << 8 | lines[i].flag << shift);
	}
	return (struct ow_orc){ exact(ips.at, ips.size), IPS,
				exact(entries.at, entries.size), nr,
				has_signal };
}

static void drop(struct ow_orc *orc)
{
	free((void *)orc->ips);
	free((void *)orc->entries);
}

static struct ow_row row;
static struct ow_rule rules[OW_MAX_REGS];
static uint8_t expr[OW_ORC_EXPR];

static int look(const struct ow_orc *orc, uint64_t vaddr)
{
	return ow_orc_row(orc, vaddr, &row, rules, expr);
}

static bool has_cfa(uint8_t kind, uint8_t reg, int32_t off)
{
	return row.cfa.kind == kind && row.cfa.reg == reg && row.cfa.off == off;
}

static bool has_rule(uint8_t slot, uint8_t kind, int32_t off)
{
	size_t i;

	for (i = 0; i < row.nr; i++)
		if (row.rules[i].slot == slot)
			return row.rules[i].kind == kind &&
			       row.rules[i].off == off;
	return false;
}

static void test_search(void)
{
	static const struct line lines[] = {
		{ 0xffffffff81000000, 8, 0, SP, UNDEFINED, 0, 0 },
		{ 0xffffffff81000010, 16, -16, SP, PREV_SP, 0, 0 },
		{ 0xffffffff81000011, 16, -16, BP, PREV_SP, 0, 0 },
		{ 0xffffffff81000100, 0, 0, UNDEFINED, UNDEFINED, 0, 0 },
	};
	struct ow_orc orc = make(lines, 4, false);

	CHECK(look(&orc, 0xffffffff80ffffff) == -OW_ENOENT);
	CHECK(!look(&orc, 0xffffffff81000000) && has_cfa(OW_RULE_REG, 7, 8));
	CHECK(!look(&orc, 0xffffffff8100000f) && has_cfa(OW_RULE_REG, 7, 8));
	CHECK(!look(&orc, 0xffffffff81000010) && has_cfa(OW_RULE_REG, 7, 16));
	CHECK(has_rule(6, OW_RULE_AT_CFA, -16));
	CHECK(!look(&orc, 0xffffffff810000ff) && has_cfa(OW_RULE_REG, 6, 16));
	CHECK(look(&orc, 0xffffffff81000100) == -OW_ENOENT);
	CHECK(look(&orc, ~(uint64_t)0) == -OW_ENOENT);
	orc.nr = 0;
	CHECK(look(&orc, 0xffffffff81000000) == -OW_ENOENT);
	drop(&orc);
}

/* What a call leaves is the return address; ORC tells nothing of rbx, r12... */
static void test_call(void)
{
	static const struct line lines[] = {
		{ 0x1000, 32, -24, SP, BP, 0, 0 },
		{ 0x1010, 32, 0, R10, UNDEFINED, 0, 0 },
		{ 0x1020, 0, 0, DI, UNDEFINED, 0, 0 },
		{ 0x1030, -8, 0, BP_IND, UNDEFINED, 0, 0 },
	};
	static const uint8_t unknown[] = { 3, 12, 13, 14, 15 };
	struct ow_orc orc = make(lines, 4, false);
	size_t i;

	CHECK(!look(&orc, 0x1000) && row.how == OW_HOW_ORC && !row.flags &&
	      row.ra == 16);
	CHECK(has_rule(16, OW_RULE_AT_CFA, -8));
	CHECK(has_rule(6, OW_RULE_AT_REG, -24));
	for (i = 0; i < sizeof(unknown); i++)
		CHECK(has_rule(unknown[i], OW_RULE_UNDEFINED, 0));
	CHECK(row.nr == 7);
	CHECK(!look(&orc, 0x1010) && has_cfa(OW_RULE_REG, 10, 32));
	CHECK(row.nr == 6);
	CHECK(!look(&orc, 0x1020) && has_cfa(OW_RULE_REG, 5, 0));
	CHECK(!look(&orc, 0x1030) && has_cfa(OW_RULE_AT_REG, 6, -8));
	drop(&orc);
}

static void test_switched_stack(void)
{
	static const struct line lines[] = {
		{ 0x1000, 8, 0, SP_IND, UNDEFINED, 0, 0 },
		{ 0x1010, 1000, -16, SP_IND, PREV_SP, 0, 0 },
		{ 0x1020, -8, 0, SP_IND, UNDEFINED, 0, 0 },
		{ 0x1030, 16384, 0, SP_IND, UNDEFINED, 0, 0 },
	};
	static const uint8_t small[] = { 6, 0x77, 0, 6, 0x23, 0x88, 0 };
	static const uint8_t large[] = { 6, 0x77, 0, 6, 0x23, 0xe8, 7 };
	struct ow_orc orc = make(lines, 4, false);

	CHECK(!look(&orc, 0x1000) && has_cfa(OW_RULE_IS_EXPR, 0, 0) &&
	      row.exprs_size == sizeof(small) &&
	      memcmp(row.exprs, small, sizeof(small)) == 0);
	CHECK(!look(&orc, 0x1010) && row.exprs_size == sizeof(large) &&
	      memcmp(row.exprs, large, sizeof(large)) == 0);
	CHECK(look(&orc, 0x1020) == -OW_EFORMAT);
	CHECK(look(&orc, 0x1030) == -OW_EFORMAT);
	drop(&orc);
}

static void check_regs(const struct ow_orc *orc)
{
	CHECK(!look(orc, 0x1000) && row.flags == OW_ROW_SIGNAL);
	CHECK(has_cfa(OW_RULE_REG, 7, 0) && row.nr == 17);
	CHECK(has_rule(15, OW_RULE_AT_CFA, 0));
	CHECK(has_rule(6, OW_RULE_AT_CFA, 32));
	CHECK(has_rule(3, OW_RULE_AT_CFA, 40));
	CHECK(has_rule(5, OW_RULE_AT_CFA, 112));
	CHECK(has_rule(16, OW_RULE_AT_CFA, 128));
	CHECK(has_rule(7, OW_RULE_AT_CFA, 152));
	CHECK(!look(orc, 0x1010) && row.flags == OW_ROW_SIGNAL);
	CHECK(has_cfa(OW_RULE_REG, 7, 8) && row.nr == 2);
	CHECK(has_rule(16, OW_RULE_AT_CFA, 0));
	CHECK(has_rule(7, OW_RULE_AT_CFA, 24));
	CHECK(!look(orc, 0x1020) && row.flags == OW_ROW_OUTERMOST);
}

static void test_regs_old(void)
{
	static const struct line lines[] = {
		{ 0x1000, 0, 0, SP, UNDEFINED, 1, 0 },
		{ 0x1010, 8, 0, SP, UNDEFINED, 2, 0 },
		{ 0x1020, 0, 0, UNDEFINED, UNDEFINED, 0, 1 },
	};
	struct ow_orc orc = make(lines, 3, false);

	check_regs(&orc);
	drop(&orc);
}

static void test_regs_new(void)
{
	static const struct line lines[] = {
		{ 0x1000, 0, 0, SP, UNDEFINED, 3, 1 },
		{ 0x1010, 8, 0, SP, UNDEFINED, 4, 1 },
		{ 0x1020, 0, 0, UNDEFINED, UNDEFINED, 1, 0 },
		{ 0x1030, 16, -16, SP, PREV_SP, 2, 0 },
		{ 0x1040, 16, 0, SP, UNDEFINED, 0, 0 },
		{ 0x1050, 16, 0, SP, UNDEFINED, 5, 0 },
	};
	struct ow_orc orc = make(lines, 6, true);

	check_regs(&orc);
	CHECK(!look(&orc, 0x1030) && row.flags == 0);
	CHECK(has_cfa(OW_RULE_REG, 7, 16) && has_rule(6, OW_RULE_AT_CFA, -16));
	CHECK(look(&orc, 0x1040) == -OW_ENOENT);
	CHECK(look(&orc, 0x1050) == -OW_ENOENT);
	drop(&orc);
}

static void test_malformed(void)
{
	static const struct line lines[] = {
		{ 0x1000, 8, 0, PREV_SP, UNDEFINED, 0, 0 },
		{ 0x1010, 8, 0, 10, UNDEFINED, 0, 0 },
		{ 0x1020, 8, 0, 15, UNDEFINED, 0, 0 },
		{ 0x1030, 8, 0, SP, SP, 0, 0 },
	};
	struct ow_orc orc = make(lines, 4, false);
	uint64_t at;

	for (at = 0x1000; at <= 0x1030; at += 0x10)
		CHECK(look(&orc, at) == -OW_EFORMAT);
	drop(&orc);
}

int main(void)
{
	static const struct test tests[] = {
		{ "entry by address", test_search },
		{ "calls", test_call },
		{ "switched stacks", test_switched_stack },
		{ "interrupted, until 6.2", test_regs_old },
		{ "interrupted, since 6.3", test_regs_new },
		{ "malformed entries", test_malformed },
	};

	return test_main(tests, (int)OW_ARRAY_SIZE(tests));
}
