// SPDX-License-Identifier: BSD-2-Clause
/* Shares of users in the memory that a run may take. */
#include "owner.h"

#include <string.h>
#include <sys/stat.h>

#include <outwind/outwind.h>

#include "budget.h"
#include "object.h"
#include "scratch.h"
#include "test.h"

static void give_all(struct ow_owner *list, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		ow_owner_give(&list[i], list[i].bytes);
}

/* Take as much as each of nr owners of a user's may have, together. */
static size_t take_all(struct ow_owner *list, size_t nr, uid_t uid)
{
	size_t sum = 0;

	for (size_t i = 0; i < nr; i++) {
		list[i] = ow_owner_of(uid);
		CHECK(ow_owner_take(&list[i], ow_owner_left(&list[i])));
		CHECK(!ow_owner_take(&list[i], 1));
		sum += list[i].bytes;
	}
	return sum;
}

static void test_users(void)
{
	struct ow_owner a[50], b[50];

	ow_memory_limit(1000);
	CHECK(take_all(a, 50, 1001) == 500 && a[0].bytes == 250);
	/* Half of what is left, and one a quarter. */
	CHECK(take_all(b, 50, 1002) == 250 && b[0].bytes == 125);
	CHECK(ow_budget_share(0) == 62);
	give_all(a, 50);
	CHECK(ow_owner_left(&b[0]) == 93 && ow_owner_left(&a[0]) == 187);
	give_all(b, 50);
	CHECK(ow_budget_share(0) == 250);
}

/* Root's are as any others were. */
static void test_root(void)
{
	struct ow_owner a[50], zero = { 0 };

	ow_memory_limit(1 << 20);
	CHECK(take_all(a, 50, 0) > (1 << 20) - 16 && a[0].share == zero.share);
	give_all(a, 50);
	CHECK(ow_budget_share(0) == 1 << 18);
}

static void test_beside(void)
{
	struct ow_owner a = ow_owner_of(1001), b = ow_owner_beside(&a);

	ow_memory_limit(1000);
	CHECK(ow_owner_take(&a, 250) && b.bytes == 0);
	CHECK(ow_owner_left(&b) == 187 && ow_owner_take(&b, 187));
	b = ow_owner_beside(&b);
	CHECK(ow_owner_left(&b) == 63);
	ow_owner_give(&a, 250);
	b.bytes = 187;
	ow_owner_give(&b, 187);
	CHECK(ow_budget_share(0) == 250);
}

/* Those who come when there are many users have one share together. */
static void test_many(void)
{
	struct ow_owner first = ow_owner_of(1001), last = ow_owner_of(5000);

	for (uid_t uid = 2000; uid < 4000; uid++)
		last = ow_owner_of(uid);
	CHECK(ow_owner_of(4000).share == last.share);
	CHECK(ow_owner_of((uid_t)-1).share == last.share);
	CHECK(ow_owner_of(1001).share == first.share);
	CHECK(first.share != last.share && first.share && last.share);
}

/* What is made of a user's file is of that user's share; of a program of ours it isn't. */
static void test_objects(void)
{
	struct ow_object *ours, *others;

	CHECK(scratch_run("cp /bin/true p && cp p w && chmod o+w w"));
	if (geteuid() == 0)
		CHECK(chown("w", 1001, 1001) == 0);
	ours = ow_object_open("p", NULL);
	others = ow_object_open("w", NULL);
	CHECK(ours && others && !ours->owner.share);
	CHECK(others->owner.share ==
	      ow_owner_of(geteuid() ? geteuid() : 1001).share);
	ow_object_close(ours);
	ow_object_close(others);
}

int main(void)
{
	static const struct test tests[] = {
		{ "users", test_users },
		{ "root", test_root },
		{ "several of one user's", test_beside },
		{ "objects", test_objects },
		{ "many users", test_many },
	};

	scratch_enter();
	return test_main(tests, OW_ARRAY_SIZE(tests));
}
