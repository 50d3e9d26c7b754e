// SPDX-License-Identifier: BSD-2-Clause
/* Which object's table is made next. */
#include <stdlib.h>

#include "env.h"
#include "tablesdue.h"
#include "test.h"

static struct ow_tablesdue due;

static void add(uint32_t number, bool is_large)
{
	struct ow_tabledue one = { .number = number, .is_large = is_large };

	CHECK(ow_tablesdue_add(&due, &one));
}

/* The number of the one that is taken, or 0. */
static uint32_t take(bool may_be_large)
{
	struct ow_tabledue one = { .number = 0 };
	bool found = ow_tablesdue_take(&due, may_be_large, &one);

	CHECK(found == (one.number != 0));
	return one.number;
}

static void test_in_order(void)
{
	uint32_t i;

	CHECK(take(true) == 0 && take(false) == 0);
	for (i = 1; i <= 1000; i++)
		add(i, false);
	for (i = 1; i <= 1000; i++)
		CHECK(take(i & 1) == i);
	CHECK(take(true) == 0);
}

static void test_asked(void)
{
	uint32_t i;

	for (i = 1; i <= 5; i++)
		add(i, false);
	ow_tablesdue_ask(&due, 4);
	ow_tablesdue_ask(&due, 3);
	ow_tablesdue_ask(&due, 77);
	CHECK(take(true) == 3 && take(true) == 4 && take(true) == 1);
	CHECK(take(true) == 2 && take(true) == 5 && take(true) == 0);
}

static void test_large(void)
{
	add(1, true);
	add(2, true);
	add(3, false);
	ow_tablesdue_ask(&due, 2);
	CHECK(take(false) == 3 && take(false) == 0);
	CHECK(take(true) == 2 && take(true) == 1 && take(true) == 0);
}

int main(void)
{
	static const struct test tests[] = {
		{ "in order", test_in_order },
		{ "asked for", test_asked },
		{ "large", test_large },
	};
	int failed = test_main(tests, OW_ARRAY_SIZE(tests));

	free(due.all);
	return failed;
}
