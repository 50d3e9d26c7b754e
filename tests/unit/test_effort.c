// SPDX-License-Identifier: BSD-2-Clause
/* What a run may spend: that it ends, and that time brings it back. */
#include "effort.h"

#include <time.h>

#include "test.h"

static void sleep_ms(long ms)
{
	nanosleep(&(struct timespec){ ms / 1000, ms % 1000 * 1000000 }, NULL);
}

static void test_ends(void)
{
	static struct ow_effort e = OW_EFFORT(1000, 1);

	CHECK(ow_effort_left(&e) == 1000);
	ow_effort_spend(&e, 400);
	CHECK(ow_effort_left(&e) == 600);
	ow_effort_spend(&e, 700);
	CHECK(ow_effort_left(&e) == 0);
	ow_effort_spend(&e, UINT64_MAX);
	CHECK(ow_effort_left(&e) == 0);
}

static void test_comes_back(void)
{
	static struct ow_effort e = OW_EFFORT(1000, 100000);

	ow_effort_spend(&e, 1000);
	CHECK(ow_effort_left(&e) == 0);
	sleep_ms(5);
	CHECK(ow_effort_left(&e) >= 500);
	sleep_ms(20);
	CHECK(ow_effort_left(&e) == 1000);
}

/* Time that passes between many looks is not lost. */
static void test_many_looks(void)
{
	static struct ow_effort e = OW_EFFORT(1000000, 100000);
	uint64_t begun;
	int i;

	ow_effort_spend(&e, 1000000);
	begun = ow_effort_left(&e);
	for (i = 0; i < 100; i++) {
		nanosleep(&(struct timespec){ 0, 200000 }, NULL);
		ow_effort_left(&e);
	}
	CHECK(begun == 0 && ow_effort_left(&e) >= 1000);
}

int main(void)
{
	static const struct test tests[] = {
		{ "ends", test_ends },
		{ "comes back", test_comes_back },
		{ "many looks", test_many_looks },
	};

	return test_main(tests, OW_ARRAY_SIZE(tests));
}
