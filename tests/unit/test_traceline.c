// SPDX-License-Identifier: BSD-2-Clause
/* Which lines of a trace are addresses. */
#include <string.h>

#include "test.h"
#include "traceline.h"

static bool is_address(const char *line, uint64_t want)
{
	uint64_t got = ~want;

	return ow_traceline_address(line, strlen(line), &got) && got == want;
}

static bool is_none(const char *line)
{
	uint64_t got;

	return !ow_traceline_address(line, strlen(line), &got);
}

static void test_addresses(void)
{
	CHECK(is_address("0x240a", 0x240a));
	CHECK(is_address("0X1", 1));
	CHECK(is_address("0x0", 0));
	CHECK(is_address("ffff800000080000", 0xffff800000080000));
	CHECK(is_address("0xffffffffffffffff", UINT64_MAX));
	CHECK(is_address("\t 0xAbC \r", 0xabc));
	CHECK(is_address("a", 10));
}

static void test_counts(void)
{
	CHECK(is_none("0"));
	CHECK(is_none("1"));
	CHECK(is_none("9876543210"));
	CHECK(is_none(" 1 "));
}

static void test_others(void)
{
	CHECK(is_none(""));
	CHECK(is_none("  "));
	CHECK(is_none("0x"));
	CHECK(is_none("x10"));
	CHECK(is_none("#0x10"));
	CHECK(is_none("main+0x10"));
	CHECK(is_none("0x10 0x20"));
	CHECK(is_none("-0x10"));
	CHECK(is_none("0x10000000000000000"));
	CHECK(is_none("10000000000000000"));
	CHECK(is_none("0x1g"));
}

int main(void)
{
	static const struct test tests[] = {
		{ "addresses", test_addresses },
		{ "counts", test_counts },
		{ "what is neither", test_others },
	};

	return test_main(tests, sizeof(tests) / sizeof(*tests));
}
