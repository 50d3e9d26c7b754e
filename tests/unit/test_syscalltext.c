// SPDX-License-Identifier: BSD-2-Clause
/* How much text system calls may take, of processes and users. */
#include "syscalltext.h"

#include "test.h"

#define LONG (SYSCALLTEXT_BRIEF + 100000)

/* Return how many calls are as whole, of so many. */
static unsigned int take(struct syscalltext *t, pid_t pid, uid_t uid,
			 unsigned int calls)
{
	unsigned int nr = 0;

	while (calls-- > 0)
		nr += syscalltext_take(t, pid, uid, LONG) ==
		      SYSCALLTEXT_AS_WHOLE;
	return nr;
}

static void test_run(void)
{
	struct syscalltext t;
	unsigned int nr;

	syscalltext_init(&t);
	nr = take(&t, 1, 1000, 20000);
	CHECK(nr == SYSCALLTEXT_MOST / 4 * 3 / (LONG - SYSCALLTEXT_BRIEF));
	CHECK(t.nr_brief == 20000 - nr);
	/* Another process of the user, and others. */
	CHECK(take(&t, 2, 1000, 1000) == 1000);
	CHECK(take(&t, 3, 1001, 1000) == 1000);
	CHECK(take(&t, 4, 0, 500) == 500);
	CHECK(t.most.processes.nr_refused == 1);
	/* What is short is always whole. */
	CHECK(syscalltext_take(&t, 1, 1000, SYSCALLTEXT_BRIEF) ==
	      SYSCALLTEXT_AS_WHOLE);
	CHECK(!syscalltext_is_full(&t, 1, 1000));
	CHECK(!t.nr_none);
	syscalltext_deinit(&t);
}

/* However many processes a user has, another one's calls are whole. */
static void test_user(void)
{
	struct syscalltext t;
	pid_t pid;

	syscalltext_init(&t);
	for (pid = 1; pid < 1000; pid++)
		take(&t, pid, 1000, 100);
	CHECK(t.nr_brief > 0);
	CHECK(t.most.users.taken < SYSCALLTEXT_MOST / 8 * 7);
	CHECK(take(&t, pid, 1001, 1000) == 1000);
	syscalltext_deinit(&t);
}

static void test_late(void)
{
	struct syscalltext t;
	unsigned int i;

	syscalltext_init(&t);
	syscalltext_end(&t);
	take(&t, 1, 1000, 100000);
	CHECK(syscalltext_is_full(&t, 1, 1000));
	CHECK(syscalltext_take(&t, 1, 1000, 100) == SYSCALLTEXT_AS_NONE);
	CHECK(t.nr_none > 40000);
	CHECK(t.late_brief.processes.taken + t.late_most.processes.taken <=
	      SYSCALLTEXT_LATE / 4 * 3);
	CHECK(!syscalltext_is_full(&t, 2, 1000));
	CHECK(take(&t, 2, 1000, 100) == 100);
	for (i = 0; i < 1000; i++)
		CHECK(syscalltext_take(&t, 3, 1001, 100) ==
		      SYSCALLTEXT_AS_WHOLE);
	syscalltext_deinit(&t);
}

static void test_work(void)
{
	struct syscalltext t;

	syscalltext_init(&t);
	syscalltext_see(&t, 1, 1, 1, 1000);
	syscalltext_work(&t, 1, 1000, 2 * SYSCALLTEXT_WORK);
	CHECK(!syscalltext_is_late(&t, 1, 1000));
	syscalltext_end(&t);
	CHECK(!syscalltext_is_late(&t, 1, 1000));
	syscalltext_work(&t, 1, 1000, SYSCALLTEXT_WORK / 4 * 3);
	CHECK(syscalltext_is_late(&t, 1, 1000));
	CHECK(!syscalltext_is_late(&t, 2, 1000));
	syscalltext_deinit(&t);
}

/* Where calls wait, names have a part of each turn. */
static void test_turns(void)
{
	const uint64_t begin = 10 * SYSCALLTEXT_WAIT;
	const uint64_t made = begin - SYSCALLTEXT_WAIT - 1;
	struct syscalltext t;

	syscalltext_init(&t);
	syscalltext_see(&t, begin, made, 1, 1000);
	CHECK(!syscalltext_is_late(&t, 1, 1000));
	syscalltext_work(&t, 1, 1000, 10 * SYSCALLTEXT_NAMES);
	CHECK(syscalltext_is_late(&t, 1, 1000));
	CHECK(!syscalltext_is_late(&t, 2, 1000));
	/* A second process of the user has the rest of what the user may have. */
	syscalltext_work(&t, 2, 1000, 10 * SYSCALLTEXT_NAMES);
	CHECK(syscalltext_is_late(&t, 2, 1000));
	CHECK(syscalltext_is_late(&t, 3, 1000));
	CHECK(!syscalltext_is_late(&t, 3, 1001));
	/* There is time for all when no call waits, and in the next turn. */
	syscalltext_see(&t, begin + 1, made + 1, 1, 1000);
	CHECK(syscalltext_is_late(&t, 1, 1000));
	syscalltext_see(&t, begin + 1, made + 2, 1, 1000);
	CHECK(!syscalltext_is_late(&t, 1, 1000));
	syscalltext_see(&t, begin + SYSCALLTEXT_TURN, made, 1, 1000);
	CHECK(!syscalltext_is_late(&t, 1, 1000));
	syscalltext_deinit(&t);
}

/* A name that takes longer than a turn is made up for where others' calls wait. */
static void test_debts(void)
{
	const uint64_t begin = 10 * SYSCALLTEXT_WAIT;
	const uint64_t took = 10 * SYSCALLTEXT_TURN;
	struct syscalltext t;
	uint64_t now = begin;

	syscalltext_init(&t);
	syscalltext_see(&t, now, now, 1, 1000);
	syscalltext_work(&t, 1, 1000, took);
	now += took;
	/* Its own calls have waited, and those of nobody in particular. */
	syscalltext_see(&t, now, now - took, 1, 1000);
	syscalltext_see(&t, now, now - took, 9, (uid_t)-1);
	CHECK(!syscalltext_is_late(&t, 1, 1000));
	syscalltext_see(&t, now, now - took, 9, 1001);
	CHECK(syscalltext_is_late(&t, 1, 1000));
	CHECK(syscalltext_is_late(&t, 2, 1000));
	CHECK(!syscalltext_is_late(&t, 9, 1001));
	/* One alone, no longer than calls wait. */
	syscalltext_see(&t, now, now, 1, 1000);
	CHECK(!syscalltext_is_late(&t, 1, 1000));
	/* After a second one also when no call waits, until it is made up for. */
	syscalltext_work(&t, 1, 1000, took);
	now += took;
	syscalltext_see(&t, now, now, 1, 1000);
	CHECK(syscalltext_is_late(&t, 1, 1000));
	now += 6 * took;
	syscalltext_see(&t, now, now, 1, 1000);
	CHECK(syscalltext_is_late(&t, 1, 1000));
	now += 3 * took;
	syscalltext_see(&t, now, now, 1, 1000);
	CHECK(!syscalltext_is_late(&t, 1, 1000));
	/* Of root's processes, each has its own. */
	syscalltext_work(&t, 1, 0, took);
	syscalltext_see(&t, now + took, now, 2, 0);
	CHECK(syscalltext_is_late(&t, 1, 0));
	CHECK(!syscalltext_is_late(&t, 2, 0));
	syscalltext_deinit(&t);
}

/* A user all of whose names take long has a quarter of the time where others' wait. */
static void test_long_names(void)
{
	const uint64_t begin = 10 * SYSCALLTEXT_WAIT;
	const uint64_t end = begin + 10000 * SYSCALLTEXT_TURN;
	const uint64_t took = 3 * SYSCALLTEXT_TURN;
	struct syscalltext t;
	uint64_t now = begin, sum = 0;

	syscalltext_init(&t);
	while (now < end) {
		syscalltext_see(&t, now, now - 2 * SYSCALLTEXT_WAIT, 9, 1001);
		CHECK(!syscalltext_is_late(&t, 9, 1001));
		now += SYSCALLTEXT_TURN / 100;
		syscalltext_see(&t, now, now - 2 * SYSCALLTEXT_WAIT, 1, 1000);
		if (syscalltext_is_late(&t, 1, 1000))
			continue;
		syscalltext_work(&t, 1, 1000, took);
		now += took;
		sum += took;
	}
	CHECK(sum > (end - begin) / 8 && sum < (end - begin) / 10 * 3);
	syscalltext_deinit(&t);
}

/* What took long while nobody waited is made up for soon. */
static void test_old_debts(void)
{
	uint64_t now = 10 * SYSCALLTEXT_WAIT;
	struct syscalltext t;
	int i;

	syscalltext_init(&t);
	for (i = 0; i < 1000; i++) {
		syscalltext_see(&t, now, now, 1, 1000);
		CHECK(!syscalltext_is_late(&t, 1, 1000));
		syscalltext_work(&t, 1, 1000, SYSCALLTEXT_TURN);
		now += SYSCALLTEXT_TURN;
	}
	syscalltext_see(&t, now, now - 2 * SYSCALLTEXT_WAIT, 9, 1001);
	CHECK(syscalltext_is_late(&t, 1, 1000));
	now += SYSCALLTEXT_OWED;
	syscalltext_see(&t, now, now - 2 * SYSCALLTEXT_WAIT, 9, 1001);
	CHECK(!syscalltext_is_late(&t, 1, 1000));
	syscalltext_deinit(&t);
}

/* However many users have debts. */
static void test_many_debts(void)
{
	const uint64_t now = 10 * SYSCALLTEXT_WAIT;
	struct syscalltext t;
	uid_t uid;

	syscalltext_init(&t);
	syscalltext_see(&t, now, now, 1, 1000);
	for (uid = 1; uid <= 3 * SYSCALLTEXT_DEBTS; uid++)
		syscalltext_work(&t, (pid_t)uid, uid, uid * SYSCALLTEXT_TURN);
	syscalltext_see(&t, now + SYSCALLTEXT_TURN, now - SYSCALLTEXT_WAIT, 9,
			1001);
	CHECK(!syscalltext_is_late(&t, 1, 1001));
	CHECK(syscalltext_is_late(&t, 1, 3 * SYSCALLTEXT_DEBTS));
	CHECK(syscalltext_is_late(&t, 1, 2 * SYSCALLTEXT_DEBTS + 1));
	syscalltext_deinit(&t);
}

int main(void)
{
	static const struct test tests[] = {
		{ "of a run", test_run },
		{ "of one user", test_user },
		{ "of what waits at the end", test_late },
		{ "time for names at the end", test_work },
		{ "time for names where calls wait", test_turns },
		{ "names that take longer than a turn", test_debts },
		{ "a user all of whose names do", test_long_names },
		{ "names that took long while nobody waited", test_old_debts },
		{ "many users whose names take long", test_many_debts },
	};

	return test_main(tests, OW_ARRAY_SIZE(tests));
}
