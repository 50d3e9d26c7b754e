// SPDX-License-Identifier: BSD-2-Clause
/* What large FDEs may cost a run: shares, and that they come to an end. */
#include "cfiwork.h"

#include "test.h"

static void test_a_quarter_of_what_is_left(void)
{
	uint64_t first = ow_cfiwork_share(), second;

	CHECK(first == (uint64_t)16 << 20);
	ow_cfiwork_spend(first);
	second = ow_cfiwork_share();
	/* and what a minute, which this test does not take, brings back */
	CHECK(second >= (uint64_t)12 << 20 && second < first);
}

static void test_nothing_is_left(void)
{
	uint64_t all = 0;
	int i;

	for (i = 0; i < 200; i++) {
		uint64_t share = ow_cfiwork_share();

		ow_cfiwork_spend(share);
		all += share;
	}
	CHECK(all < (uint64_t)128 << 20);
	ow_cfiwork_spend((uint64_t)1 << 40);
	CHECK(ow_cfiwork_share() == 0);
}

int main(void)
{
	static const struct test tests[] = {
		{ "a quarter of what is left", test_a_quarter_of_what_is_left },
		{ "nothing is left", test_nothing_is_left },
	};

	return test_main(tests, OW_ARRAY_SIZE(tests));
}
