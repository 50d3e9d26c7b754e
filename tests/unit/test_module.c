// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#include "module.h"
#include "test.h"

static const struct ow_range ranges[] = {
	{ 0x1000, 0x2000, NULL },
	{ 0x2000, 0x2001, NULL }, /* adjoins, and has one byte */
	{ 0x3000, 0x5000, NULL },
	{ 0xfffffffffffff000, 0xffffffffffffffff, NULL },
};

static void test_every_boundary(void)
{
	static const struct {
		uint64_t addr;
		int want; /* index, or -1 */
	} cases[] = {
		{ 0, -1 },
		{ 0xfff, -1 },
		{ 0x1000, 0 },
		{ 0x1fff, 0 },
		{ 0x2000, 1 },
		{ 0x2001, -1 },
		{ 0x2fff, -1 },
		{ 0x3000, 2 },
		{ 0x4fff, 2 },
		{ 0x5000, -1 },
		{ 0xffffffffffffefff, -1 },
		{ 0xfffffffffffff000, 3 },
		{ 0xfffffffffffffffe, 3 },
		{ 0xffffffffffffffff, -1 },
	};

	size_t i, nr;

	for (nr = 0; nr <= OW_ARRAY_SIZE(ranges); nr++) {
		const struct ow_map map = { ranges, nr, 1 };

		for (i = 0; i < OW_ARRAY_SIZE(cases); i++) {
			int want = cases[i].want < (int)nr ? cases[i].want : -1;
			const struct ow_range *got =
				ow_map_find(&map, cases[i].addr);

			CHECK(got == (want < 0 ? NULL : &ranges[want]));
		}
	}
}

static void test_empty(void)
{
	const struct ow_map map = { NULL, 0, 1 };

	CHECK(ow_map_find(&map, 0) == NULL);
	CHECK(ow_map_find(&map, ~(uint64_t)0) == NULL);
}

int main(void)
{
	static const struct test tests[] = {
		{ "every boundary", test_every_boundary },
		{ "empty", test_empty },
	};

	return test_main(tests, OW_ARRAY_SIZE(tests));
}
