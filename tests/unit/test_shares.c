// SPDX-License-Identifier: BSD-2-Clause
/* Who may take how much of what there is for all. */
#include "shares.h"

#include "test.h"

#define ALL ((uint64_t)1 << 30)

static void test_one(void)
{
	struct shares s = { .most = ALL, .eighths = 6 };

	CHECK(shares_left(&s, 1) == ALL / 4 * 3);
	shares_take(&s, 1, ALL / 4);
	CHECK(shares_left(&s, 1) == ALL / 2);
	shares_take(&s, 1, ALL / 2);
	CHECK(shares_left(&s, 1) == 0);
	shares_deinit(&s);
}

/* Who comes later has its part of what is left. */
static void test_others(void)
{
	struct shares s = { .most = ALL, .eighths = 6 };

	shares_take(&s, 1, ALL / 4 * 3);
	CHECK(shares_left(&s, 2) == ALL / 16 * 3);
	shares_take(&s, 2, ALL / 16 * 3);
	CHECK(shares_left(&s, 2) == 0);
	CHECK(shares_left(&s, 1) == 0);
	CHECK(shares_left(&s, 3) == ALL / 64 * 3);
	CHECK(s.taken < ALL);
	shares_deinit(&s);
}

/* However many there are, they never have more than all. */
static void test_many(void)
{
	struct shares s = { .most = ALL, .eighths = 7 };
	uint64_t i;

	for (i = 0; i < 200000; i++)
		shares_take(&s, i, shares_left(&s, i));
	CHECK(s.taken <= ALL);
	CHECK(s.taken > ALL - 4096);
	CHECK(s.nr == 65536);
	CHECK(shares_left(&s, 199999) == 0);
	shares_deinit(&s);
}

static void test_refused(void)
{
	struct shares s = { .most = 1, .eighths = 8 };

	shares_refuse(&s, 7);
	shares_refuse(&s, 7);
	shares_refuse(&s, 8);
	CHECK(s.nr_refused == 2);
	CHECK(s.taken == 0);
	shares_deinit(&s);
}

/* What is given back is there for others, and no more than that. */
static void test_given(void)
{
	struct shares s = { .most = ALL, .eighths = 6 };

	shares_take(&s, 1, ALL / 2);
	shares_give(&s, 1, ALL / 4);
	CHECK(shares_left(&s, 1) == ALL / 2);
	shares_give(&s, 1, ALL);
	CHECK(s.taken == 0);
	CHECK(shares_left(&s, 2) == ALL / 4 * 3);
	shares_deinit(&s);
}

/* Processes of a user share what the user may take; root is nobody in particular. */
static void test_limit(void)
{
	struct shares_limit l;

	shares_limit_init(&l, ALL);
	shares_limit_take(&l, 1, 7, ALL / 4 * 3);
	CHECK(!shares_limit_allows(&l, 1, 7, 1));
	CHECK(shares_limit_allows(&l, 2, 7, ALL / 8));
	shares_limit_take(&l, 2, 7, ALL / 8);
	CHECK(!shares_limit_allows(&l, 3, 7, 1));
	CHECK(shares_limit_allows(&l, 3, 0, ALL / 16));
	shares_limit_give(&l, 2, 7, ALL / 8);
	CHECK(shares_limit_allows(&l, 3, 7, ALL / 8));
	shares_limit_deinit(&l);
}

int main(void)
{
	static const struct test tests[] = {
		{ "one has a part of all", test_one },
		{ "another one has a part of what is left", test_others },
		{ "many have no more than all", test_many },
		{ "who was refused something", test_refused },
		{ "what is given back", test_given },
		{ "a limit of processes and users", test_limit },
	};

	return test_main(tests, OW_ARRAY_SIZE(tests));
}
