// SPDX-License-Identifier: BSD-2-Clause
#include "namecache.h"

#include <string.h>

#include "test.h"

#define PC 0x1000

static bool is(const struct ow_namecache *c, uint64_t pc, uid_t uid,
	       const char *want)
{
	size_t nr;
	const struct ow_name *n = ow_namecache_find(c, pc, false, uid, &nr);

	if (!n || !want)
		return !n && !want;
	return nr == 1 && strcmp(n->function, want) == 0;
}

static void test_users(void)
{
	const struct ow_name short_of[] = { { .function = "short" } };
	const struct ow_name full[] = { { .function = "full" } };
	struct ow_namecache c = { 0 };
	size_t names;

	ow_namecache_put_for(&c, PC, false, 1, short_of, 1);
	CHECK(is(&c, PC, 1, "short"));
	CHECK(is(&c, PC, 2, NULL) && is(&c, PC, 0, NULL));
	/* Users who take turns take no more room. */
	names = c.nr_names;
	ow_namecache_put_for(&c, PC, false, 2, short_of, 1);
	CHECK(is(&c, PC, 2, "short") && is(&c, PC, 1, NULL));
	CHECK(c.nr_names == names && c.nr == 1);
	ow_namecache_put(&c, PC, false, full, 1);
	CHECK(is(&c, PC, 1, "full") && is(&c, PC, 0, "full"));
	CHECK(c.nr_names == names && c.nr == 1);
	CHECK(is(&c, PC + 1, 1, NULL));
	ow_namecache_deinit(&c);
}

/* More or fewer names than before, among others. */
static void test_numbers(void)
{
	const struct ow_name names[] = { { .function = "a" },
					 { .function = "b" },
					 { .function = "c" } };
	struct ow_namecache c = { 0 };
	const struct ow_name *n;
	size_t nr, i;

	ow_namecache_put_for(&c, PC, false, 1, names, 1);
	for (i = 1; i < 1000; i++)
		ow_namecache_put(&c, PC + i, false, names + i % 3, 1);
	ow_namecache_put(&c, PC, false, names, 3);
	n = ow_namecache_find(&c, PC, false, 2, &nr);
	CHECK(n && nr == 3 && strcmp(n[2].function, "c") == 0);
	ow_namecache_put(&c, PC, false, names + 1, 1);
	CHECK(is(&c, PC, 2, "b"));
	for (i = 1; i < 1000; i++)
		CHECK(is(&c, PC + i, 1, names[i % 3].function));
	ow_namecache_deinit(&c);
}

int main(void)
{
	static const struct test tests[] = {
		{ "names for one user", test_users },
		{ "other numbers of names", test_numbers },
	};

	return test_main(tests, OW_ARRAY_SIZE(tests));
}
