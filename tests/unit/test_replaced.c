// SPDX-License-Identifier: BSD-2-Clause
#include "replaced.h"

#include <string.h>

#include "capture.h"
#include "mappings.h"
#include "test.h"

#define CODE(from, to, at, number)                                    \
	{                                                             \
		.start = (from), .end = (to), .off = (at), .dev = 1,  \
		.inode = (number), .executable = true, .path = "/lib" \
	}

static struct ow_mappings list_of(struct ow_mapping *list, size_t nr)
{
	return (struct ow_mappings){ .list = list, .nr = nr };
}

/* Each place that one list alone has, or that has another file or part in it. */
static void test_note(void)
{
	struct ow_mapping was[] = { CODE(0x1000, 0x3000, 0, 7),
				    CODE(0x3000, 0x5000, 0, 8),
				    CODE(0x8000, 0x9000, 0x1000, 7) };
	struct ow_mapping is[] = { CODE(0x1000, 0x2000, 0, 7),
				   CODE(0x2000, 0x3000, 0x1000, 7),
				   CODE(0x3000, 0x4000, 0x1000, 8),
				   CODE(0x8000, 0xa000, 0x1000, 7) };
	struct ow_mappings before = list_of(was, 3), now = list_of(is, 4);
	struct ow_replaced r = { .nr = 0 };

	ow_replaced_note(&r, &before, &before, 1);
	CHECK(r.nr == 0);
	ow_replaced_note(&r, &before, &now, 1);
	CHECK(r.nr == 2);
	CHECK(r.list[0].start == 0x3000 && r.list[0].end == 0x5000);
	CHECK(r.list[1].start == 0x9000 && r.list[1].end == 0xa000);
	CHECK(ow_replaced_has(&r, 0x4800, 0) &&
	      !ow_replaced_has(&r, 0x4800, 1));
	CHECK(!ow_replaced_has(&r, 0x2000, 0) &&
	      !ow_replaced_has(&r, 0x8800, 0));
	/* What was called at its end. */
	CHECK(ow_replaced_has(&r, 0x5000, 0) &&
	      !ow_replaced_has(&r, 0x5001, 0));
}

/* Code of which none is known to be the same. */
static void test_many(void)
{
	struct ow_mapping was[2 * OW_MOST_REPLACED];
	struct ow_mappings before = list_of(was, 2 * OW_MOST_REPLACED);
	struct ow_mappings none = list_of(NULL, 0);
	struct ow_replaced r = { .nr = 0 };
	uint64_t i;

	for (i = 0; i < 2 * OW_MOST_REPLACED; i++)
		was[i] = (struct ow_mapping)CODE(0x10000 + i * 0x2000,
						 0x11000 + i * 0x2000, 0, 7);
	ow_replaced_note(&r, &before, &none, 3);
	CHECK(r.nr == OW_MOST_REPLACED);
	for (i = 0; i < 2 * OW_MOST_REPLACED; i++)
		CHECK(ow_replaced_has(&r, 0x10800 + i * 0x2000, 2));
	CHECK(!ow_replaced_has(&r, 0x10800, 3));
}

static void test_cut(void)
{
	struct ow_mapping was[] = { CODE(0x1000, 0x2000, 0, 7) };
	struct ow_mappings before = list_of(was, 1), none = list_of(NULL, 0);
	struct ow_replaced r = { .nr = 0 };
	uint64_t words[] = { 0x5000, 0x3000, 0x1800, 0x1900 };
	uint32_t halves[] = { 5, 0x80001800, 7 };
	struct ow_region stack = { .start = 0x7000,
				   .size = sizeof(words),
				   .bytes = (uint8_t *)words };

	ow_replaced_note(&r, &before, &none, 1);
	CHECK(!ow_replaced_cut(&r, 1, &stack, 8, UINT64_MAX));
	CHECK(ow_replaced_cut(&r, 0, &stack, 8, UINT64_MAX));
	CHECK(stack.size == 16);
	CHECK(!ow_replaced_cut(&r, 0, &stack, 8, UINT64_MAX));
	stack = (struct ow_region){ .start = 0x7000,
				    .size = sizeof(halves),
				    .bytes = (uint8_t *)halves };
	CHECK(!ow_replaced_cut(&r, 0, &stack, 4, UINT64_MAX));
	CHECK(ow_replaced_cut(&r, 0, &stack, 4, 0x7fffffff));
	CHECK(stack.size == 4);
	/* It begins within a word. */
	memcpy((uint8_t *)words + 4, &words[2], 8);
	stack = (struct ow_region){ .start = 0x7004,
				    .size = 28,
				    .bytes = (uint8_t *)words };
	CHECK(ow_replaced_cut(&r, 0, &stack, 8, UINT64_MAX) && stack.size == 4);
}

int main(void)
{
	static const struct test tests[] = {
		{ "where lists of mappings differ", test_note },
		{ "where they differ at many places", test_many },
		{ "a stack that leads to replaced code", test_cut },
	};

	return test_main(tests, OW_ARRAY_SIZE(tests));
}
