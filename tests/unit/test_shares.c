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

/* However many processes a user has had, each of another user's has its part. */
static void test_processes(void)
{
	struct shares_limit l;
	pid_t pid;

	shares_limit_init(&l, ALL);
	for (pid = 1; pid <= 200000; pid++)
		shares_limit_take(&l, pid, 7, 100);
	CHECK(l.processes.nr == 8193);
	shares_limit_take(&l, pid, 7, shares_limit_left(&l, pid, 7));
	CHECK(shares_limit_allows(&l, pid + 1, 8, ALL / 16));
	shares_limit_take(&l, pid + 1, 8, ALL / 16);
	CHECK(shares_limit_allows(&l, pid + 2, 8, ALL / 64));
	CHECK(shares_limit_allows(&l, pid + 3, 0, ALL / 64));
	/* The first user's have one part together. */
	CHECK(!shares_limit_allows(&l, pid + 4, 7, 1));
	shares_limit_deinit(&l);
}

/* Nor has a process of one user less because of those of many users, or of root. */
static void test_users(void)
{
	struct shares_limit l;
	pid_t pid;

	shares_limit_init(&l, ALL);
	for (pid = 1; pid <= 200000; pid++)
		shares_limit_take(&l, pid, pid % 2 ? 0 : 7 + (uid_t)pid % 100,
				  100);
	CHECK(l.processes.nr >= 49152 && l.processes.nr <= 49152 + 100);
	shares_limit_take(&l, pid, 0, shares_limit_left(&l, pid, 0));
	CHECK(shares_limit_allows(&l, pid + 1, 1000, ALL / 8));
	shares_limit_take(&l, pid + 1, 1000, ALL / 8);
	CHECK(shares_limit_allows(&l, pid + 2, 1001, ALL / 32));
	shares_limit_deinit(&l);
}

/* What all give back is there again, and processes that have nothing are forgotten. */
static void test_forgotten(void)
{
	struct shares_limit l;
	pid_t pid;
	int i;

	shares_limit_init(&l, ALL);
	for (i = 0; i < 3; i++) {
		for (pid = 1; pid <= 20000; pid++)
			shares_limit_take(&l, pid, 7, (uint64_t)pid);
		for (pid = 20000; pid >= 1; pid -= 2)
			shares_limit_give(&l, pid, 7, (uint64_t)pid);
		/* These have a share of their own now, besides. */
		for (pid = 20000; pid >= 10000; pid -= 2)
			shares_limit_take(&l, pid, 7, 1);
		for (pid = 1; pid <= 20000; pid++)
			shares_limit_give(&l, pid, 7,
					  pid % 2 ? (uint64_t)pid :
						    pid >= 10000);
		CHECK(l.processes.nr == 0 && l.users.nr == 0);
		CHECK(l.processes.taken == 0 && l.users.taken == 0);
	}
	shares_limit_deinit(&l);
}

static void test_refused_processes(void)
{
	struct shares_limit l;
	pid_t pid;

	shares_limit_init(&l, ALL);
	for (pid = 1; pid <= 200000; pid++)
		shares_limit_refuse(&l, pid, 7);
	CHECK(l.processes.nr_refused == 8193);
	shares_limit_refuse(&l, pid, 8);
	CHECK(l.processes.nr_refused == 8194);
	shares_limit_take(&l, pid, 8, 1);
	shares_limit_give(&l, pid, 8, 1);
	shares_limit_refuse(&l, pid, 8);
	CHECK(l.processes.nr_refused == 8194);
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
		{ "one user's many processes", test_processes },
		{ "many users' many processes", test_users },
		{ "processes that have given all back", test_forgotten },
		{ "processes that were refused something",
		  test_refused_processes },
	};

	return test_main(tests, OW_ARRAY_SIZE(tests));
}
