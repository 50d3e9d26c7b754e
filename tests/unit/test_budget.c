// SPDX-License-Identifier: BSD-2-Clause
/* Shares of the memory that a run may take. */
#include "budget.h"

#include <string.h>

#include <outwind/outwind.h>

#include "test.h"

static void test_shares(void)
{
	size_t a = 0, b = 0;

	ow_memory_limit(1000);
	CHECK(ow_budget_share(0) == 250);
	CHECK(!ow_budget_take(&a, 251) && a == 0);
	CHECK(ow_budget_take(&a, 200) && a == 200);
	CHECK(ow_budget_share(a) == 50);
	CHECK(!ow_budget_take(&a, 51) && a == 200);
	CHECK(ow_budget_take(&a, 50) && a == 250);
	/* Of the 750 that are left. */
	CHECK(ow_budget_share(0) == 187);
	CHECK(!ow_budget_take(&b, 188));
	CHECK(ow_budget_take(&b, 187) && b == 187);
	ow_budget_give(&a, 250);
	CHECK(a == 0 && ow_budget_share(0) == 203);
	ow_budget_give(&b, 87);
	CHECK(b == 100 && ow_budget_share(b) == 150);
	ow_budget_give(&b, b);
	CHECK(ow_budget_share(0) == 250);
}

/* Whoever has more than a later limit allows keeps it and gets no more. */
static void test_less(void)
{
	size_t a = 0;

	ow_memory_limit(1000);
	CHECK(ow_budget_take(&a, 250));
	ow_memory_limit(400);
	CHECK(ow_budget_share(a) == 0 && !ow_budget_take(&a, 1));
	CHECK(ow_budget_share(0) == 37);
	ow_memory_limit(100);
	CHECK(ow_budget_share(0) == 0);
	ow_budget_give(&a, a);
	CHECK(ow_budget_share(0) == 25);
	CHECK(!ow_budget_take(&a, SIZE_MAX) && a == 0);
}

/* Of what is left, a quarter stays for others. */
static void test_most(void)
{
	size_t a = 0, b = 0;

	ow_memory_limit(1000);
	CHECK(!ow_budget_take_most(&a, 751) && a == 0);
	CHECK(ow_budget_take_most(&a, 750) && a == 750);
	CHECK(ow_budget_share(0) == 62);
	CHECK(!ow_budget_take_most(&b, 189) && b == 0);
	CHECK(!ow_budget_take_most(&b, SIZE_MAX) && b == 0);
	ow_budget_give(&a, a);
	CHECK(ow_budget_share(0) == 250);
}

static void test_many(void)
{
	size_t own[40] = { 0 };

	ow_memory_limit(1 << 20);
	for (size_t i = 0; i < 20; i++)
		CHECK(ow_budget_take(&own[i], ow_budget_share(0)));
	/* Greedy ones leave some to who needs little. */
	CHECK(ow_budget_share(0) == 831);
	for (size_t i = 0; i < 20; i++)
		ow_budget_give(&own[i], own[i]);
	CHECK(ow_budget_share(0) == 1 << 18);
}

static void test_refused(void)
{
	char path[32];

	CHECK(!ow_left_out(0));
	ow_budget_refuse("/a", "its DWARF");
	ow_budget_refuse("/a", "its DWARF");
	ow_budget_refuse("/a", "its .debug_frame");
	CHECK(strcmp(ow_left_out(0),
		     "/a: its DWARF would take more memory than it may "
		     "(--memory-limit): left out") == 0);
	CHECK(strncmp(ow_left_out(1), "/a: its .debug_frame ", 21) == 0);
	CHECK(!ow_left_out(2));
	for (int i = 0; i < 100; i++) {
		snprintf(path, sizeof(path), "/%d", i);
		ow_budget_refuse(path, "x");
	}
	CHECK(ow_left_out(63) && !ow_left_out(64));
	CHECK(ow_nr_left_out() == 102);
	for (int i = 0; i < 10000; i++) {
		snprintf(path, sizeof(path), "/%d", i);
		ow_budget_refuse(path, "x");
	}
	CHECK(!ow_left_out(64) && ow_nr_left_out() == OW_MOST_COUNTED);
}

int main(void)
{
	static const struct test tests[] = {
		{ "shares", test_shares },
		{ "a smaller limit", test_less },
		{ "the one input", test_most },
		{ "many owners", test_many },
		{ "what was refused", test_refused },
	};

	return test_main(tests, OW_ARRAY_SIZE(tests));
}
