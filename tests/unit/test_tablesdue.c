// SPDX-License-Identifier: BSD-2-Clause
/* Which object's table is made next. */
#include <stdlib.h>

#include "env.h"
#include "tablesdue.h"
#include "test.h"

static struct ow_tablesdue due;

#define S 1000000000ULL

static uint64_t now = 1000 * S;

static void add_for(uint32_t number, uid_t uid, bool is_large)
{
	struct ow_tabledue one = { .number = number,
				   .uid = uid,
				   .is_large = is_large };

	CHECK(ow_tablesdue_add(&due, &one));
}

static void add(uint32_t number, bool is_large)
{
	add_for(number, 0, is_large);
}

/* The number of the one that is taken, or 0. */
static uint32_t take(bool may_be_large)
{
	struct ow_tabledue one = { .number = 0 };
	bool found = ow_tablesdue_take(&due, may_be_large, now, &one);

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
	ow_tablesdue_ask(&due, 4, 0);
	ow_tablesdue_ask(&due, 3, 0);
	ow_tablesdue_ask(&due, 77, 0);
	CHECK(take(true) == 3 && take(true) == 4 && take(true) == 1);
	CHECK(take(true) == 2 && take(true) == 5 && take(true) == 0);
}

static void test_large(void)
{
	add(1, true);
	add(2, true);
	add(3, false);
	ow_tablesdue_ask(&due, 2, 0);
	CHECK(take(false) == 3 && take(false) == 0);
	CHECK(take(true) == 2 && take(true) == 1 && take(true) == 0);
}

/* Whose tables have taken the least time comes first. */
static void test_users(void)
{
	ow_tablesdue_pay(&due, 1000, S, now);
	ow_tablesdue_pay(&due, 1001, S / 2, now);
	ow_tablesdue_pay(&due, 0, 100 * S, now);
	add_for(1, 1000, false);
	add_for(2, 1001, false);
	add_for(3, 1002, false);
	add_for(4, 0, false);
	add_for(5, 1000, false);
	add_for(6, 1001, false);
	add_for(7, 1000, false);
	/* Another user's process has it, too; or one of a user that took more. */
	ow_tablesdue_need(&due, 5, 1002);
	ow_tablesdue_need(&due, 6, 1000);
	CHECK(take(true) == 3 && take(true) == 4 && take(true) == 5);
	ow_tablesdue_ask(&due, 7, 1000);
	CHECK(take(true) == 7 && take(true) == 2 && take(true) == 6);
	CHECK(take(true) == 1 && take(true) == 0);
	/* What they have taken is forgotten some time. */
	now += 10 * S;
	add_for(1, 1000, false);
	add_for(2, 1003, false);
	ow_tablesdue_pay(&due, 1003, 1, now);
	CHECK(due.times.nr == 2 && take(true) == 1 && take(true) == 2);
}

static void test_dropped(void)
{
	uint32_t i;

	for (i = 1; i <= 3; i++)
		add(i, false);
	CHECK(ow_tablesdue_drop(&due, 2) && !ow_tablesdue_drop(&due, 2));
	CHECK(ow_tablesdue_drop(&due, 3) && take(true) == 1 && take(true) == 0);
}

/* Tables are made before others may run, until a user's have taken a second. */
static void test_haste(void)
{
	struct ow_tabledue one;

	ow_tablesdue_pay(&due, 1004, S, now);
	add_for(1, 1004, false);
	CHECK(ow_tablesdue_take(&due, true, now, &one) && !one.is_unhurried);
	ow_tablesdue_pay(&due, 1004, 1, now);
	add_for(1, 1004, false);
	CHECK(ow_tablesdue_take(&due, true, now, &one) && one.is_unhurried);
}

/* Whose tables have taken 10 seconds waits, until they were a quarter of the time. */
static void test_share(void)
{
	ow_tablesdue_pay(&due, 1000, 10 * S, now);
	add_for(1, 1000, false);
	CHECK(take(true) == 1);
	ow_tablesdue_pay(&due, 1000, S, now);
	add_for(1, 1000, false);
	add_for(2, 1001, false);
	add_for(3, 0, false);
	ow_tablesdue_ask(&due, 1, 1000);
	CHECK(take(true) == 2 && take(true) == 3 && take(true) == 0);
	CHECK(ow_tablesdue_must_wait(&due, 1000, now));
	CHECK(!ow_tablesdue_must_wait(&due, 1001, now));
	CHECK(!ow_tablesdue_must_wait(&due, 0, now));
	now += 4 * S - 1;
	CHECK(take(true) == 0 && due.nr == 1);
	CHECK(!ow_tablesdue_is_any(&due, now));
	CHECK(ow_tablesdue_is_any(&due, now + 1));
	now++;
	CHECK(take(true) == 1 && take(true) == 0);
	add_for(1, 1000, false);
	ow_tablesdue_clear(&due);
	CHECK(take(true) == 0);
}

int main(void)
{
	static const struct test tests[] = {
		{ "in order", test_in_order },
		{ "asked for", test_asked },
		{ "large", test_large },
		{ "users take turns", test_users },
		{ "share of a user", test_share },
		{ "dropped", test_dropped },
		{ "haste", test_haste },
	};
	int failed = test_main(tests, OW_ARRAY_SIZE(tests));

	ow_tablesdue_deinit(&due);
	return failed;
}
