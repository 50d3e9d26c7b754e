// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#include "cache.h"
#include "sayrow.h"
#include "test.h"

static struct ow_cache_entry entries[8];
static struct ow_cache cache = { entries, OW_ARRAY_SIZE(entries) - 1 };

/* A row of nr rules, which its CFA's offset tells from others. */
static void put(uint64_t addr, uint32_t generation, int off, unsigned int nr)
{
	struct ow_rule rules[OW_MAX_REGS];
	struct ow_row row = {
		.cfa = { 0, OW_RULE_REG, 7, off },
		.nr = (uint8_t)nr,
		.flags = OW_ROW_SIGNAL,
		.ra = 16,
		.how = OW_HOW_CFI,
		.bias = 0x5000,
		.rules = rules,
	};
	unsigned int i;

	for (i = 0; i < nr; i++)
		rules[i] = (struct ow_rule){ (uint8_t)i, OW_RULE_AT_CFA, 0,
					     -8 * (int)(i + 1) };
	ow_cache_put(&cache, addr, generation, &row);
	/* What the row was made from may go. */
	memset(rules, 0x5a, sizeof(rules));
}

static void test_miss_when_empty(void)
{
	memset(entries, 0, sizeof(entries));
	CHECK(!ow_cache_get(&cache, 0, 1));
	CHECK(!ow_cache_get(&cache, 0x1000, 1));
}

static void test_a_copy_of_the_row(void)
{
	const struct ow_row *row;
	struct text t = { .size = 0 };

	memset(entries, 0, sizeof(entries));
	put(0x1000, 1, 16, 3);
	row = ow_cache_get(&cache, 0x1000, 1);
	CHECK(row && row->ra == 16 && row->how == OW_HOW_CFI);
	if (!row)
		return;
	CHECK(row->bias == 0x5000);
	say_row(&t, &ow_arch_x86_64, row);
	CHECK_TEXT(&t, "cfa=rsp+16 rax=[cfa-8] rdx=[cfa-16] rcx=[cfa-24] "
		       "signal");
}

static void test_generation_and_addr_must_match(void)
{
	memset(entries, 0, sizeof(entries));
	put(0x1000, 1, 16, 1);
	CHECK(!ow_cache_get(&cache, 0x1000, 2));
	CHECK(!ow_cache_get(&cache, 0x1001, 1));
	CHECK(ow_cache_get(&cache, 0x1000, 1));
	put(0x1000, 2, 24, 1);
	CHECK(!ow_cache_get(&cache, 0x1000, 1));
	CHECK(ow_cache_get(&cache, 0x1000, 2)->cfa.off == 24);
}

static void test_size_of_a_row(void)
{
	memset(entries, 0, sizeof(entries));
	put(0x1000, 1, 16, OW_CACHE_RULES);
	CHECK(ow_cache_get(&cache, 0x1000, 1)->nr == OW_CACHE_RULES);
	put(0x2000, 1, 16, 0);
	CHECK(ow_cache_get(&cache, 0x2000, 1)->nr == 0);
	memset(entries, 0, sizeof(entries));
	put(0x1000, 1, 16, OW_CACHE_RULES + 1);
	CHECK(!ow_cache_get(&cache, 0x1000, 1));
}

/* Whatever shares an entry, a hit is always the row that was put last. */
static void test_many(void)
{
	uint64_t addr;
	unsigned int hits = 0;

	memset(entries, 0, sizeof(entries));
	for (addr = 1; addr < 1000; addr++)
		put(addr, 1, (int)addr, addr % (OW_CACHE_RULES + 1));
	for (addr = 1; addr < 1000; addr++) {
		const struct ow_row *row = ow_cache_get(&cache, addr, 1);

		CHECK(!row || row->cfa.off == (int)addr);
		hits += row != NULL;
	}
	CHECK(hits > 0 && hits <= OW_ARRAY_SIZE(entries));
}

int main(void)
{
	static const struct test tests[] = {
		{ "miss when empty", test_miss_when_empty },
		{ "a copy of the row", test_a_copy_of_the_row },
		{ "generation and addr", test_generation_and_addr_must_match },
		{ "size of a row", test_size_of_a_row },
		{ "many", test_many },
	};

	return test_main(tests, OW_ARRAY_SIZE(tests));
}
