// SPDX-License-Identifier: BSD-2-Clause
#include "bpfhaste.h"

#include "monotonic.h"
#include "test.h"

#define LONG 3600000000000 /* ns */

/* What one process has filled the ring with costs another one nothing. */
static void test_shares(void)
{
	struct ow_bpfhaste h = { 0 };
	struct ow_recorded_loss loss;
	int i;

	ow_bpfhaste_begin(&h, LONG);
	for (i = 0; i < 10; i++) {
		CHECK(ow_bpfhaste_may_take(&h, 7) == (i < 4));
		if (i < 4)
			ow_bpfhaste_spend(&h, 7, 30000000);
		CHECK(ow_bpfhaste_may_take(&h, 8));
		ow_bpfhaste_spend(&h, 8, 1000000);
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
	CHECK(!ow_bpfhaste_may_take(&h, 8));
	/* It goes on: there is no more time. */
	ow_bpfhaste_begin(&h, LONG);
	CHECK(!ow_bpfhaste_may_take(&h, 8));
	CHECK(ow_bpfhaste_loss(&h, 0, &loss) && loss.pid == 8 &&
	      loss.lost == 2);
	ow_bpfhaste_deinit(&h);
}

static void test_many(void)
{
	struct ow_bpfhaste h = { 0 };
	pid_t pid;

	ow_bpfhaste_begin(&h, LONG);
	for (pid = 1; pid <= 2000; pid++)
		CHECK(ow_bpfhaste_may_take(&h, pid) == (pid <= 1024));
	CHECK(h.nr == 1024);
	ow_bpfhaste_deinit(&h);
}

int main(void)
{
	static const struct test tests[] = {
		{ "each process has a share", test_shares },
		{ "then there is no time", test_end },
		{ "any number of processes", test_many },
	};

	return test_main(tests, sizeof(tests) / sizeof(tests[0]));
}
