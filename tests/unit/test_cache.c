// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#include "cache.h"
#include "sayrow.h"
#include "test.h"

static struct ow_brief entries[8];
static struct ow_cache cache = { entries, OW_ARRAY_SIZE(entries) / 2 - 1, 0 };
static struct ow_rule rules[OW_MAX_REGS];
static struct ow_row row;

/* An x86-64 row without a save. */
static void set_up(int32_t off)
{
	memset(rules, 0x5a, sizeof(rules));
	row = (struct ow_row){
		.cfa = { 0, OW_RULE_REG, 7, off },
		.ra = 16,
		.how = OW_HOW_CFI,
		.rules = rules,
	};
}

static void save(uint8_t slot, uint8_t kind, int32_t off)
{
	rules[row.nr++] = (struct ow_rule){ slot, kind, 0, off };
}

static void put(uint64_t addr, uint32_t generation)
{
	ow_cache_put(&cache, &ow_arch_x86_64, addr, generation, &row);
}

/* What the cache gives back, as text. */
static const struct text *got(uint64_t addr, uint32_t generation)
{
	static struct text t;
	struct ow_rule back[OW_BRIEF_SAVES];
	struct ow_row again;
	const struct ow_brief *b = ow_cache_get(&cache, addr, generation);

	t.size = 0;
	if (!b) {
		say(&t, "none");
		return &t;
	}
	ow_brief_row(b, &ow_arch_x86_64, &again, back);
	CHECK(again.ra == 16 && again.how == OW_HOW_CFI);
	CHECK(again.rules == back);
	say_row(&t, &ow_arch_x86_64, &again);
	return &t;
}

/* The n-th address: none of the first six share their places with two others. */
static uint64_t nth(uint64_t n)
{
	return 0x1000 + n * 0x37;
}

/* Of a smaller cache, all of that generation, the newer of two in front. */
static void test_put_all(void)
{
	static struct ow_brief many[64];
	struct ow_cache larger = { many, OW_ARRAY_SIZE(many) / 2 - 1, 0 };
	struct ow_cache one = { many, 0, 0 };
	const struct ow_brief *had, *has;
	uint64_t n;

	memset(entries, 0, sizeof(entries));
	memset(many, 0, sizeof(many));
	for (n = 1; n <= 6; n++) {
		set_up((int32_t)n * 8);
		put(nth(n), n == 3 ? 2 : 1);
	}
	ow_cache_put_all(&larger, &cache, 1);
	CHECK(larger.puts == 5);
	for (n = 1; n <= 6; n++) {
		had = ow_cache_get(&cache, nth(n), 1);
		has = ow_cache_get(&larger, nth(n), 1);
		CHECK(!had == (n == 3) && !has == (n == 3));
		CHECK(!had || !has || memcmp(had, has, sizeof(*had)) == 0);
	}
	CHECK(!ow_cache_get(&larger, nth(3), 2));
	/* Into one pair: whichever came last to its places is there. */
	memset(many, 0, sizeof(many));
	memset(entries, 0, sizeof(entries));
	cache.mask = 0;
	put(0x1000, 1);
	put(0x2000, 1);
	ow_cache_put_all(&one, &cache, 1);
	CHECK(many[0].addr == 0x2000 && many[1].addr == 0x1000);
	cache.mask = OW_ARRAY_SIZE(entries) / 2 - 1;
}

static void test_miss_when_empty(void)
{
	memset(entries, 0, sizeof(entries));
	CHECK(!ow_cache_get(&cache, 0, 1));
	CHECK(!ow_cache_get(&cache, 0x1000, 1));
}

static void test_the_row_again(void)
{
	memset(entries, 0, sizeof(entries));
	set_up(16);
	save(6, OW_RULE_AT_CFA, -16);
	save(16, OW_RULE_AT_CFA, -8);
	save(3, OW_RULE_AT_CFA, -255 * 8);
	row.flags = OW_ROW_SIGNAL;
	put(0x1000, 1);
	/* What the row was made from may go. */
	memset(rules, 0x5a, sizeof(rules));
	CHECK_TEXT(got(0x1000, 1), "cfa=rsp+16 rbp=[cfa-16] rip=[cfa-8] "
				   "rbx=[cfa-2040] signal");
	CHECK(ow_cache_get(&cache, 0x1000, 1)->depth == 255);
	/* For which byte it was found isn't told, nor rules without use. */
	set_up(-8);
	save(3, OW_RULE_IS_CFA, 0);
	row.flags = OW_ROW_OUTERMOST | OW_ROW_LAST;
	put(0x1000, 1);
	CHECK_TEXT(got(0x1000, 1), "cfa=rsp-8 outermost");
}

static void test_generation_and_addr_must_match(void)
{
	memset(entries, 0, sizeof(entries));
	set_up(16);
	put(0x1000, 1);
	CHECK(!ow_cache_get(&cache, 0x1000, 2));
	CHECK(!ow_cache_get(&cache, 0x1001, 1));
	CHECK_TEXT(got(0x1000, 1), "cfa=rsp+16");
	set_up(24);
	put(0x1000, 2);
	CHECK_TEXT(got(0x1000, 2), "cfa=rsp+24");
}

/* Rows that can't be put in brief: each with the rule that is to blame. */
static void test_what_is_not_cached(void)
{
	static const struct ow_rule blame[] = {
		{ 3, OW_RULE_UNDEFINED, 0, 0 },
		{ 3, OW_RULE_SAME, 0, 0 },
		{ 3, OW_RULE_IS_CFA, 0, -8 },
		{ 3, OW_RULE_REG, 2, 0 },
		{ 3, OW_RULE_AT_REG, 2, 0 },
		{ 3, OW_RULE_AT_EXPR, 0, 0 },
		{ 3, OW_RULE_IS_EXPR, 0, 0 },
		{ 3, OW_RULE_AT_CFA, 0, 0 },
		{ 3, OW_RULE_AT_CFA, 0, 8 },
		{ 3, OW_RULE_AT_CFA, 0, -12 },
		{ 3, OW_RULE_AT_CFA, 0, -2048 },
		{ 7, OW_RULE_AT_CFA, 0, -8 },
		{ 3, OW_RULE_AT_CFA, 0, INT32_MIN },
	};
	size_t i;

	memset(entries, 0, sizeof(entries));
	for (i = 0; i < OW_ARRAY_SIZE(blame); i++) {
		set_up(16);
		save(16, OW_RULE_AT_CFA, -8);
		rules[row.nr++] = blame[i];
		put(0x1000, 1);
		CHECK_TEXT(got(0x1000, 1), "none");
	}
	set_up(16);
	row.cfa.kind = OW_RULE_IS_EXPR;
	put(0x1000, 1);
	row.cfa.kind = OW_RULE_AT_REG;
	put(0x1000, 1);
	row.cfa.kind = OW_RULE_NONE;
	put(0x1000, 1);
	row.cfa.kind = OW_RULE_REG;
	row.ra = 7;
	put(0x1000, 1);
	CHECK_TEXT(got(0x1000, 1), "none");
}

static void test_size_of_a_row(void)
{
	int i;

	memset(entries, 0, sizeof(entries));
	set_up(16);
	for (i = 0; i < OW_BRIEF_SAVES; i++)
		save((uint8_t)(20 + i), OW_RULE_AT_CFA, -8 * (i + 1));
	put(0x1000, 1);
	CHECK(ow_cache_get(&cache, 0x1000, 1)->nr == OW_BRIEF_SAVES);
	save(8, OW_RULE_AT_CFA, -8 * (i + 1));
	put(0x2000, 1);
	CHECK_TEXT(got(0x2000, 1), "none");
}

/* Whatever shares a pair, a hit is the row that was put for that addr. */
static void test_many(void)
{
	uint64_t addr;
	unsigned int hits = 0;

	memset(entries, 0, sizeof(entries));
	for (addr = 1; addr < 1000; addr++) {
		set_up((int32_t)addr);
		put(addr, 1);
		/* The one before lives on, as there are two places. */
		CHECK(addr == 1 || ow_cache_get(&cache, addr - 1, 1));
		CHECK(ow_cache_get(&cache, addr, 1));
	}
	for (addr = 1; addr < 1000; addr++) {
		const struct ow_brief *b = ow_cache_get(&cache, addr, 1);

		CHECK(!b || b->cfa_off == (int32_t)addr);
		hits += b != NULL;
	}
	CHECK(hits >= 2 && hits <= OW_ARRAY_SIZE(entries));
}

int main(void)
{
	static const struct test tests[] = {
		{ "miss when empty", test_miss_when_empty },
		{ "the row again", test_the_row_again },
		{ "all of another cache", test_put_all },
		{ "generation and addr", test_generation_and_addr_must_match },
		{ "what is not cached", test_what_is_not_cached },
		{ "size of a row", test_size_of_a_row },
		{ "many", test_many },
	};

	return test_main(tests, OW_ARRAY_SIZE(tests));
}
