// SPDX-License-Identifier: BSD-2-Clause
#include "rangeroom.h"

#include <stdlib.h>
#include <string.h>

#include "test.h"

#define NR    4096 /* ranges */
#define MOST  256  /* blocks at a time */
#define TURNS 20000

static void test_all_of_it_and_no_more(void)
{
	struct ow_rangeroom r;
	uint32_t i, at;

	CHECK(ow_rangeroom_init(&r, NR));
	CHECK(ow_rangeroom_take(&r, NR + 1) == OW_RANGEROOM_NONE);
	for (i = 0; i < NR / 16; i++) {
		at = ow_rangeroom_take(&r, 1 + i % 16);
		CHECK(at != OW_RANGEROOM_NONE && at % 16 == 0);
	}
	CHECK(ow_rangeroom_take(&r, 1) == OW_RANGEROOM_NONE && r.given == NR);
	for (i = 0; i < NR / 16; i++)
		ow_rangeroom_give(&r, 16 * i, 16);
	CHECK(r.given == 0);
	/* What was given back by pieces is whole again. */
	CHECK(ow_rangeroom_take(&r, NR) == 0);
	ow_rangeroom_deinit(&r);
}

/* No two blocks have a range in common, whatever is taken and given back. */
static void test_blocks_are_apart(void)
{
	static bool taken[NR];
	uint32_t at[MOST] = { 0 }, size[MOST] = { 0 }, turn, i, k;
	struct ow_rangeroom r;
	bool is_apart = true;

	srand(2);
	CHECK(ow_rangeroom_init(&r, NR));
	for (turn = 0; turn < TURNS; turn++) {
		i = (uint32_t)rand() % MOST;
		if (size[i]) {
			ow_rangeroom_give(&r, at[i], size[i]);
			memset(taken + at[i], 0, size[i]);
			size[i] = 0;
			continue;
		}
		k = 1 + (uint32_t)rand() % 100;
		at[i] = ow_rangeroom_take(&r, k);
		if (at[i] == OW_RANGEROOM_NONE)
			continue;
		size[i] = k;
		is_apart &= at[i] + k <= NR;
		while (k-- > 0 && is_apart) {
			is_apart &= !taken[at[i] + k];
			taken[at[i] + k] = true;
		}
	}
	CHECK(is_apart);
	for (i = 0; i < MOST; i++)
		if (size[i])
			ow_rangeroom_give(&r, at[i], size[i]);
	CHECK(r.given == 0 && ow_rangeroom_take(&r, NR) == 0);
	ow_rangeroom_deinit(&r);
}

int main(void)
{
	static const struct test tests[] = {
		{ "all of the room, and no more", test_all_of_it_and_no_more },
		{ "blocks are apart", test_blocks_are_apart },
	};

	return test_main(tests, sizeof(tests) / sizeof(tests[0]));
}
