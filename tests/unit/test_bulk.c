// SPDX-License-Identifier: BSD-2-Clause
/* What a run may look through: shares, and that they come to an end. */
#include "bulk.h"

#include <outwind/outwind.h>

#include "test.h"

#define MB ((uint64_t)1 << 20)

static void test_shares(void)
{
	int i, nr = 0;

	CHECK(!ow_bulk_take(OW_BULK_SYMBOLS, 256 * MB + 1));
	CHECK(ow_bulk_take(OW_BULK_SYMBOLS, 256 * MB));
	for (i = 0; i < 20; i++)
		nr += ow_bulk_take(OW_BULK_SYMBOLS, 128 * MB);
	CHECK(nr >= 2 && nr < 8);
	/* What needs little has it yet, and what is of another kind. */
	CHECK(ow_bulk_take(OW_BULK_SYMBOLS, 16 * MB));
	CHECK(ow_bulk_take(OW_BULK_UNWIND, 256 * MB));
	CHECK(ow_bulk_take(OW_BULK_RELOCATIONS, 256 * MB));
}

int main(void)
{
	static const struct test tests[] = {
		{ "shares", test_shares },
	};

	return test_main(tests, OW_ARRAY_SIZE(tests));
}
