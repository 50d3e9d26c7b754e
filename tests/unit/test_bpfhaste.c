// SPDX-License-Identifier: BSD-2-Clause
#include "bpfhaste.h"

#include "monotonic.h"
#include "test.h"

#define LONG    3600000000000 /* ns */
#define HALF    500000000
#define ONE     1000000
#define SOMEONE 65534
#define OTHER   1000

/* Count what may not be taken as lost. */
static bool may_take(struct ow_bpfhaste *h, pid_t pid)
{
	if (ow_bpfhaste_may_take(h, pid, SOMEONE))
		return true;
	ow_bpfhaste_lose(h, pid);
	return false;
}

/* What one process has filled the ring with costs another one nothing. */
static void test_shares(void)
{
	struct ow_bpfhaste h = { 0 };
	struct ow_recorded_loss loss;
	int i;

	ow_bpfhaste_begin(&h, LONG);
	for (i = 0; i < 10; i++) {
		CHECK(may_take(&h, 7) == (i < 4));
		if (i < 4)
			ow_bpfhaste_spend(&h, 7, SOMEONE, 30000000);
		CHECK(ow_bpfhaste_may_take(&h, 8, SOMEONE));
		ow_bpfhaste_spend(&h, 8, SOMEONE, ONE);
	}
	CHECK(ow_bpfhaste_loss(&h, 0, &loss) && loss.pid == 7 &&
	      loss.lost == 6);
	CHECK(ow_bpfhaste_loss(&h, 1, &loss) && loss.pid == 8 &&
	      loss.lost == 0);
	CHECK(!ow_bpfhaste_loss(&h, 2, &loss));
	ow_bpfhaste_deinit(&h);
}

static void test_end(void)
{
	struct ow_bpfhaste h = { 0 };
	struct ow_recorded_loss loss;

	ow_bpfhaste_begin(&h, 1);
	while (ow_now_ns() < h.until)
		continue;
	CHECK(!may_take(&h, 8));
	/* It goes on: there is no more time. */
	ow_bpfhaste_begin(&h, LONG);
	CHECK(!may_take(&h, 8));
	CHECK(ow_bpfhaste_loss(&h, 0, &loss) && loss.pid == 8 &&
	      loss.lost == 2);
	ow_bpfhaste_deinit(&h);
}

/* Let nr processes of a user have events of a millisecond.  Return how many are taken. */
static int take(struct ow_bpfhaste *h, pid_t first, pid_t nr, uid_t uid)
{
	int taken = 0;
	pid_t pid;

	for (pid = first; pid < first + nr; pid++)
		while (ow_bpfhaste_may_take(h, pid, uid)) {
			ow_bpfhaste_spend(h, pid, uid, ONE);
			taken++;
		}
	return taken;
}

/* However many processes a user has, another user's have time. */
static void test_users(void)
{
	struct ow_bpfhaste h = { 0 };

	ow_bpfhaste_begin(&h, LONG);
	h.ns = HALF;
	CHECK(take(&h, 1, 5, SOMEONE) == HALF / ONE / 2);
	CHECK(take(&h, 6, 1, OTHER) == 100);
	CHECK(take(&h, 7, 5, (uid_t)-1) == HALF / ONE * 3 / 20);
	/* Root's processes have what they may have as processes. */
	CHECK(take(&h, 100, 3, 0) == 300);
	ow_bpfhaste_deinit(&h);
}

/* Processes that are too many to be told apart have their user's time. */
static void test_many(void)
{
	struct ow_bpfhaste h = { 0 };
	pid_t pid;

	ow_bpfhaste_begin(&h, LONG);
	h.ns = HALF;
	for (pid = 1; pid <= 2000; pid++) {
		CHECK(ow_bpfhaste_may_take(&h, pid, SOMEONE));
		ow_bpfhaste_spend(&h, pid, SOMEONE, ONE / 100);
	}
	CHECK(h.processes.nr == 1024);
	CHECK(take(&h, pid, 1, SOMEONE) == HALF / ONE / 2 - 20);
	CHECK(take(&h, pid + 1, 1, OTHER) == HALF / ONE / 4);
	CHECK(take(&h, pid + 2, 1, 0) == HALF / ONE / 8 + 1);
	ow_bpfhaste_deinit(&h);
}

static void test_many_users(void)
{
	struct ow_bpfhaste h = { 0 };
	uid_t uid;

	ow_bpfhaste_begin(&h, LONG);
	for (uid = 1; uid <= 2000; uid++)
		CHECK(ow_bpfhaste_may_take(&h, 1, uid) == (uid <= 1024));
	CHECK(ow_bpfhaste_may_take(&h, 2, 0));
	ow_bpfhaste_deinit(&h);
}

int main(void)
{
	static const struct test tests[] = {
		{ "each process has a share", test_shares },
		{ "then there is no time", test_end },
		{ "each user has a share", test_users },
		{ "any number of processes", test_many },
		{ "any number of users", test_many_users },
	};

	return test_main(tests, sizeof(tests) / sizeof(tests[0]));
}
