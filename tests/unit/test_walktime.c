// SPDX-License-Identifier: BSD-2-Clause
/* What walks may take a run: usual ones nothing, and others less and less. */
#include "walktime.h"

#include "monotonic.h"
#include "test.h"

#define MS 1000000ULL

static void work(uint64_t ns)
{
	uint64_t end = ow_cpu_ns() + ns;

	while (ow_cpu_ns() < end)
		;
}

static bool run_piece(struct ow_walktime *t, unsigned int nr, uint64_t ns)
{
	ow_walktime_start(t);
	work(ns);
	return ow_walktime_stop(t, nr);
}

/* Many frames take long, and however little is left, they go on. */
static void test_usual(void)
{
	struct ow_walktime t = { .nr = 2, .closer = 1 };
	int i;

	for (i = 0; i < 100; i++)
		CHECK(run_piece(&t, 10000000, MS));
	CHECK(t.closer == 0 && t.left == 0);
}

/*
 * The first piece isn't timed; and the first time that one takes long, somebody else may
 * have had the CPU.
 */
static void test_long(void)
{
	struct ow_walktime t = { 0 };
	uint64_t before;

	ow_walktime_begin(&t);
	CHECK(ow_walktime_piece(&t) > 0);
	CHECK(run_piece(&t, 1, 10 * MS));
	CHECK(t.closer == 0);
	CHECK(ow_walktime_piece(&t) > 0);
	before = t.left;
	CHECK(before > 1000 * MS && before < 5000 * MS);
	CHECK(run_piece(&t, 1, 10 * MS));
	CHECK(t.left == before && t.closer > 1);
	CHECK(run_piece(&t, 1, 10 * MS));
	CHECK(t.left < before - 9 * MS && t.left > before - 1000 * MS);
	t.left = MS;
	CHECK(!run_piece(&t, 1, 10 * MS));
	CHECK(t.left == 0);
	CHECK(run_piece(&t, 10000000, 0));
	CHECK(!run_piece(&t, 1, 10 * MS));
}

/* How long all pieces of a walk may take but the first. */
static uint64_t left_of(uint32_t share)
{
	struct ow_walktime t = { .share = share };

	ow_walktime_begin(&t);
	ow_walktime_piece(&t);
	ow_walktime_piece(&t);
	return t.left;
}

/* The time that one user's walks have taken is not another user's. */
static void test_users(void)
{
	struct ow_walktime t = { .share = 1, .nr = 2, .closer = 2 };
	uint64_t before = left_of(2), own = left_of(0);

	CHECK(before >= 1000 * MS);
	CHECK(!run_piece(&t, 1, 3000 * MS));
	CHECK(left_of(1) < before - 500 * MS);
	CHECK(left_of(2) == before);
	CHECK(left_of(0) >= own);
}

static void test_pieces(void)
{
	struct ow_walktime t = { .nr = 2, .left = 1000 * MS };
	unsigned int first = ow_walktime_piece(&t), then;

	t.left = 5 * MS;
	then = ow_walktime_piece(&t);
	CHECK(then < first);
	t.left = 0;
	CHECK(ow_walktime_piece(&t) > 0 && ow_walktime_piece(&t) < then);
}

int main(void)
{
	static const struct test tests[] = {
		{ "usual frames", test_usual },
		{ "frames that take long", test_long },
		{ "frames of several users", test_users },
		{ "frames between looks at the time", test_pieces },
	};

	return test_main(tests, OW_ARRAY_SIZE(tests));
}
