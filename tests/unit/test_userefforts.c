// SPDX-License-Identifier: BSD-2-Clause
/* What is spent for one user leaves others theirs, however many there are. */
#include "userefforts.h"

#include "test.h"

#define MANY (OW_OWNER_SHARES - 1)

static void test_each_has_its_own(void)
{
	static struct ow_userefforts e = OW_USEREFFORTS(1600, 1);

	ow_userefforts_spend(&e, 1, 5000);
	CHECK(ow_userefforts_left(&e, 1) == 0);
	CHECK(ow_userefforts_left(&e, 2) == 1600);
	CHECK(ow_userefforts_left(&e, 0) == 1600);
	ow_userefforts_spend(&e, 0, 1000);
	CHECK(ow_userefforts_left(&e, 0) == 600);
}

/* Users who take all that they can, and one who comes after them. */
static void test_many_users(void)
{
	static struct ow_userefforts e = OW_USEREFFORTS(1600, 1);
	uint64_t all = 0, left;
	uint32_t user;

	for (user = 1; user < MANY; user++) {
		left = ow_userefforts_left(&e, user);
		CHECK(left == (user <= 8 ? 1600 : 100));
		ow_userefforts_spend(&e, user, left);
		CHECK(ow_userefforts_left(&e, user) == 0);
		all += left;
	}
	CHECK(all == 8 * 1600 + (MANY - 9) * 100);
	/* That is a little, which others have, too. */
	ow_userefforts_spend(&e, MANY, 60);
	CHECK(ow_userefforts_left(&e, MANY) == 40);
	CHECK(ow_userefforts_left(&e, 0) == 1600);
}

static void test_another_effort_of_ours(void)
{
	static struct ow_userefforts e =
		OW_USEREFFORTS_BESIDE(1000000, 1, 1600, 1);

	CHECK(ow_userefforts_left(&e, 0) == 1000000);
	CHECK(ow_userefforts_left(&e, 1) == 1600);
	CHECK(ow_userefforts_left(&e, MANY) == 1600);
}

int main(void)
{
	static const struct test tests[] = {
		{ "each has its own", test_each_has_its_own },
		{ "many users", test_many_users },
		{ "another effort of ours", test_another_effort_of_ours },
	};

	return test_main(tests, OW_ARRAY_SIZE(tests));
}
