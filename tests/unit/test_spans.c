// SPDX-License-Identifier: BSD-2-Clause
#include "spans.h"

#include <stdlib.h>

#include "test.h"

#define MOST  12
#define ADDRS 40

struct thing {
	struct ow_span span;
	int number;
};

static int compare(const void *a, const void *b)
{
	const struct thing *x = a, *y = b;

	if (x->span.start != y->span.start)
		return x->span.start < y->span.start ? -1 : 1;
	return x->number - y->number;
}

/* All that cover addr, from the last to the first; and then no more. */
static void check_addr(const struct ow_spans *s, uint64_t addr)
{
	const struct thing *list = s->list, *got;
	size_t at = s->nr, i;

	for (i = s->nr; i-- > 0;) {
		if (addr < list[i].span.start || addr >= list[i].span.end)
			continue;
		got = ow_spans_before(s, addr, &at);
		CHECK(got == &list[i]);
		CHECK(at == i);
	}
	CHECK(!ow_spans_before(s, addr, &at));
}

static void test_all_that_cover(void)
{
	struct thing list[MOST];
	struct ow_spans s = { list, 0, sizeof(list[0]), 0 };
	uint64_t addr;
	int round;
	size_t i;

	srandom(1);
	for (round = 0; round < 500; round++) {
		s.nr = (size_t)round % (MOST + 1);
		for (i = 0; i < s.nr; i++) {
			list[i].span.start = (uint64_t)random() % ADDRS;
			list[i].span.end =
				list[i].span.start + 1 +
				(uint64_t)random() % (round % 3 ? 4 : ADDRS);
			list[i].number = (int)i;
		}
		qsort(list, s.nr, sizeof(list[0]), compare);
		ow_spans_link(&s);
		for (addr = 0; addr < 2 * ADDRS + 2; addr++)
			check_addr(&s, addr);
	}
}

static void test_ends_of_addresses(void)
{
	struct thing list[] = {
		{ { 0, 1, 0 }, 0 },
		{ { 0, UINT64_MAX, 0 }, 1 },
		{ { 16, 32, 0 }, 2 },
		{ { UINT64_MAX - 16, UINT64_MAX, 0 }, 3 },
	};
	struct ow_spans s = { list, 4, sizeof(list[0]), 0 };

	ow_spans_link(&s);
	CHECK(list[0].span.reach == 1);
	CHECK(list[1].span.reach == UINT64_MAX);
	CHECK(list[3].span.reach == UINT64_MAX);
	check_addr(&s, 0);
	check_addr(&s, 1);
	check_addr(&s, 31);
	check_addr(&s, UINT64_MAX - 16);
	check_addr(&s, UINT64_MAX - 1);
	check_addr(&s, UINT64_MAX);
}

int main(void)
{
	static const struct test tests[] = {
		{ "all that cover an address", test_all_that_cover },
		{ "the ends of addresses", test_ends_of_addresses },
	};

	return test_main(tests, OW_ARRAY_SIZE(tests));
}
