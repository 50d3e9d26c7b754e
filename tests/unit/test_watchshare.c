// SPDX-License-Identifier: BSD-2-Clause
/* What is read of files for each user's processes. */
#include "watchshare.h"

#include <unistd.h>

#include "test.h"

#define MIB ((uint64_t)1 << 20)

enum {
	ROOT,
	ONE = 1000,
	TWO,
	THREE,
	MANY = 1000
};

static uint64_t left(uid_t user)
{
	return ow_watchshare_left(OW_WATCHSHARE_BEGIN, user);
}

static void spend(uid_t user, uint64_t bytes, uint64_t waits)
{
	ow_watchshare_spend(OW_WATCHSHARE_BEGIN, user, bytes, waits);
}

/* A user gets half, and what is taken beyond that is no others' loss. */
static void test_users(void)
{
	CHECK(left(ROOT) == 256 * MIB && left(ONE) == 128 * MIB);
	spend(ONE, 1024 * MIB, 0);
	CHECK(left(ONE) == 0);
	CHECK(left(ROOT) >= 128 * MIB && left(TWO) >= 128 * MIB);
	CHECK(ow_watchshare_left(OW_WATCHSHARE_AGAIN, ONE) == 256 * MIB);
	/* A debt takes more than a moment to be paid. */
	usleep(300000);
	CHECK(left(ONE) == 0);
	/* One that isn't known is a user like others. */
	CHECK(left((uid_t)-1) <= 128 * MIB);
}

/* What was not read does not add up: some seconds later there is no more than at first. */
static void test_time(void)
{
	CHECK(left(TWO) == 128 * MIB);
	usleep(1000000);
	CHECK(left(TWO) == 128 * MIB);
	spend(TWO, 4 * MIB, 0);
	CHECK(left(TWO) < 126 * MIB);
	usleep(1000000);
	CHECK(left(TWO) == 128 * MIB);
}

/* A file that a disk has to be waited for counts for more bytes than it has. */
static void test_slow_file(void)
{
	uint64_t waits = ow_watchshare_waits();

	spend(THREE, 32 * MIB, 256);
	CHECK(left(THREE) < 64 * MIB);
	CHECK(left(THREE) > 0);
	CHECK(ow_watchshare_waits() >= waits);
}

/* Any number of users have what all have, and not more. */
static void test_many_users(void)
{
	uint64_t sum = 0;
	uid_t i;

	for (i = 0; i < MANY; i++) {
		sum += left(2000 + i);
		spend(2000 + i, left(2000 + i), 0);
	}
	CHECK(sum > 0 && sum <= 256 * MIB + 64 * MIB);
	CHECK(left(2000 + MANY) <= MIB);
}

int main(void)
{
	static const struct test tests[] = {
		{ "users", test_users },
		{ "time", test_time },
		{ "a slow file", test_slow_file },
		{ "many users", test_many_users },
	};

	return test_main(tests, OW_ARRAY_SIZE(tests));
}
