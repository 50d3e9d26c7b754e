// SPDX-License-Identifier: BSD-2-Clause
#include "grow.h"

#include "test.h"

/* A sanitizer's own: what is too large has no memory, as it is without one. */
const char *__asan_default_options(void);

const char *__asan_default_options(void)
{
	return "allocator_may_return_null=1";
}

static void test_grows(void)
{
	uint32_t *list = NULL;
	size_t room = 0, i;

	CHECK(ow_grow(&list, &room, 0, sizeof(*list)) && !list && room == 0);
	for (i = 0; i < 1000; i++) {
		CHECK(ow_grow(&list, &room, i + 1, sizeof(*list)));
		CHECK(room > i);
		list[i] = (uint32_t)i;
	}
	for (i = 0; i < 1000; i++)
		CHECK(list[i] == i);
	/* 64, 192, 448, 960, 1984 */
	CHECK(room == 1984);
	CHECK(ow_grow(&list, &room, 10000, sizeof(*list)) && room == 10000);
	free(list);
}

/* What can't be had leaves everything as it was: the list is used further. */
static void test_refuses(void)
{
	static const size_t impossible[] = { SIZE_MAX, SIZE_MAX / 8,
					     SIZE_MAX / 8 + 1, PTRDIFF_MAX };
	uint64_t *list = NULL, *before;
	size_t room = 0, i;

	CHECK(ow_grow(&list, &room, 1, sizeof(*list)) && room == 64);
	list[0] = 5;
	before = list;
	for (i = 0; i < sizeof(impossible) / sizeof(impossible[0]); i++) {
		CHECK(!ow_grow(&list, &room, impossible[i], sizeof(*list)));
		CHECK(list == before && room == 64 && list[0] == 5);
	}
	room = SIZE_MAX / 4 + 1;
	CHECK(!ow_grow(&list, &room, room + 1, 1));
	CHECK(list == before && room == SIZE_MAX / 4 + 1);
	free(list);
}

int main(void)
{
	static const struct test tests[] = {
		{ "a list grows", test_grows },
		{ "what has no room is refused", test_refuses },
	};

	return test_main(tests, sizeof(tests) / sizeof(tests[0]));
}
