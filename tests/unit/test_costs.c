// SPDX-License-Identifier: BSD-2-Clause
/* Shares of values, of few and of more than are kept. */
#include "costs.h"

#include "test.h"

static struct costs c;

static void test_none(void)
{
	CHECK(costs_share(&c, 0) == 0 && costs_share(&c, 0.5) == 0 &&
	      costs_share(&c, 1) == 0);
}

/* 100 values, 0 to 99, in another order. */
static void test_few(void)
{
	unsigned int i;

	for (i = 0; i < 100; i++)
		CHECK(costs_note(&c, i * 37 % 100));
	CHECK(costs_share(&c, 0) == 0 && costs_share(&c, 0.5) == 50 &&
	      costs_share(&c, 0.99) == 99 && costs_share(&c, 1) == 99);
	costs_free(&c);
	CHECK(costs_note(&c, 7));
	CHECK(costs_share(&c, 0) == 7 && costs_share(&c, 0.99) == 7 &&
	      costs_share(&c, 1) == 7);
	costs_free(&c);
}

/*
 * Small ones first and large ones afterwards, as if a guest had become slower:
 * half of what is kept is of either kind, give or take ten standard deviations,
 * and the outermost two are known exactly.
 */
static void test_many(void)
{
	uint64_t i, most = 8 * COSTS_MOST;

	for (i = 0; i < most; i++)
		CHECK(costs_note(&c, i == 5 ? 1 : i < most / 2 ? 10 : 20));
	CHECK(costs_note(&c, 30));
	CHECK(c.nr == most + 1 && c.nr_kept == COSTS_MOST);
	CHECK(costs_share(&c, 0) == 1 && costs_share(&c, 1) == 30);
	CHECK(costs_share(&c, 0.48) == 10 && costs_share(&c, 0.52) == 20);
	costs_free(&c);
}

static const struct test tests[] = {
	{ "none", test_none },
	{ "few", test_few },
	{ "more than are kept", test_many },
};

int main(void)
{
	return test_main(tests, OW_ARRAY_SIZE(tests));
}
