// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#include "bytes.h"
#include "cursor.h"
#include "test.h"

static struct ow_cursor over(const void *bytes, size_t size)
{
	const uint8_t *at = bytes;

	return (struct ow_cursor){ at, at + size, false };
}

static void test_integers(void)
{
	static const uint8_t bytes[] = { 0x01, 0x02, 0x83, 0x04, 0x85,
					 0x06, 0x07, 0x88, 0x09 };

	static const struct {
		size_t size;
		uint64_t want;
	} cases[] = {
		{ 1, 0x01 },
		{ 2, 0x0201 },
		{ 4, 0x04830201 },
		{ 8, 0x8807068504830201 },
	};

	size_t i;

	for (i = 0; i < OW_ARRAY_SIZE(cases); i++) {
		struct ow_cursor c = over(bytes, sizeof(bytes));

		CHECK(ow_cursor_uint(&c, cases[i].size) == cases[i].want);
		CHECK(c.pos == bytes + cases[i].size && !c.bad);
	}
}

/* One byte less than what is asked for: 0, bad, and bad it stays. */
static void test_end(void)
{
	static const size_t sizes[] = { 1, 2, 4, 8 };
	size_t i, have;

	for (i = 0; i < OW_ARRAY_SIZE(sizes); i++) {
		for (have = 0; have < sizes[i]; have++) {
			uint8_t *bytes = exact("\1\2\3\4\5\6\7", have);
			struct ow_cursor c = over(bytes, have);

			CHECK(ow_cursor_uint(&c, sizes[i]) == 0 && c.bad);
			CHECK(!ow_cursor_more(&c));
			CHECK(ow_cursor_u8(&c) == 0);
			CHECK(ow_cursor_skip(&c, 0) == NULL);
			CHECK(ow_cursor_uleb(&c) == 0);
			CHECK(ow_cursor_sleb(&c) == 0 && c.bad);
			free(bytes);
		}
	}
}

static void test_skip(void)
{
	static const uint8_t bytes[4] = { 1, 2, 3, 4 };
	struct ow_cursor c = over(bytes, sizeof(bytes));

	CHECK(ow_cursor_skip(&c, 0) == bytes);
	CHECK(ow_cursor_skip(&c, 3) == bytes && c.pos == bytes + 3);
	CHECK(ow_cursor_more(&c) && ow_cursor_u8(&c) == 4);
	CHECK(!ow_cursor_more(&c) && !c.bad);
	CHECK(ow_cursor_skip(&c, 0) == bytes + 4 && !c.bad);
	CHECK(ow_cursor_u8(&c) == 0 && c.bad);
	c = over(bytes, sizeof(bytes));
	CHECK(ow_cursor_skip(&c, ~(uint64_t)0) == NULL && c.bad);
	CHECK(c.pos == bytes);
	c = over(bytes, sizeof(bytes));
	CHECK(ow_cursor_skip(&c, 5) == NULL && c.bad);
}

struct leb {
	uint8_t bytes[12];
	size_t size;
	uint64_t want;
};

/* DWARF 5, table C.1 and C.2; then the largest that 64 bits hold. */
static const struct leb ulebs[] = {
	{ { 0 }, 1, 0 },
	{ { 2 }, 1, 2 },
	{ { 127 }, 1, 127 },
	{ { 0x80, 1 }, 2, 128 },
	{ { 0x81, 1 }, 2, 129 },
	{ { 0xb9, 0x64 }, 2, 12857 },
	{ { 0x80, 0x80, 0 }, 3, 0 }, /* padded */
	{ { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1 },
	  10,
	  UINT64_MAX },
	{ { 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 1 },
	  10,
	  (uint64_t)1 << 63 },
	{ { 0x81, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0 }, 10, 1 },
};

static const struct leb slebs[] = {
	{ { 0 }, 1, 0 },
	{ { 2 }, 1, 2 },
	{ { 0x7e }, 1, (uint64_t)-2 },
	{ { 0xff, 0 }, 2, 127 },
	{ { 0x81, 0x7f }, 2, (uint64_t)-127 },
	{ { 0x80, 1 }, 2, 128 },
	{ { 0x80, 0x7f }, 2, (uint64_t)-128 },
	{ { 0xff, 0x7e }, 2, (uint64_t)-129 },
	{ { 0xff, 0xff, 0x7f }, 3, (uint64_t)-1 }, /* padded */
	{ { 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x7f },
	  10,
	  (uint64_t)INT64_MIN },
	{ { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0 },
	  10,
	  INT64_MAX },
	{ { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f },
	  10,
	  (uint64_t)-1 },
};

static void check_lebs(const struct leb *lebs, size_t n,
		       uint64_t (*read)(struct ow_cursor *c))
{
	size_t i, size;

	for (i = 0; i < n; i++) {
		for (size = 0; size <= lebs[i].size; size++) {
			uint8_t *bytes = exact(lebs[i].bytes, size);
			struct ow_cursor c = over(bytes, size);
			bool whole = size == lebs[i].size;

			CHECK(read(&c) == (whole ? lebs[i].want : 0));
			CHECK(c.bad == !whole);
			CHECK(!whole || c.pos == bytes + size);
			free(bytes);
		}
	}
}

static uint64_t sleb(struct ow_cursor *c)
{
	return (uint64_t)ow_cursor_sleb(c);
}

static void test_uleb(void)
{
	check_lebs(ulebs, OW_ARRAY_SIZE(ulebs), ow_cursor_uleb);
}

static void test_sleb(void)
{
	check_lebs(slebs, OW_ARRAY_SIZE(slebs), sleb);
}

/* The tenth byte has room for one bit: others would be lost. */
static void test_beyond_64_bits(void)
{
	uint8_t bytes[12];
	unsigned int last;
	struct ow_cursor c;

	memset(bytes, 0x80, sizeof(bytes));
	for (last = 0; last < 0x80; last++) {
		bytes[9] = (uint8_t)last;
		c = over(bytes, 10);
		ow_cursor_uleb(&c);
		CHECK(c.bad == (last > 1));
		c = over(bytes, 10);
		ow_cursor_sleb(&c);
		CHECK(c.bad == (last != 0 && last != 0x7f));
	}
	bytes[9] = 0x81; /* an eleventh byte */
	bytes[10] = 0;
	c = over(bytes, 11);
	CHECK(ow_cursor_uleb(&c) == 0 && c.bad);
	bytes[9] = 0xff;
	bytes[10] = 0x7f;
	c = over(bytes, 11);
	CHECK(ow_cursor_sleb(&c) == 0 && c.bad);
}

int main(void)
{
	static const struct test tests[] = {
		{ "integers", test_integers },
		{ "end", test_end },
		{ "skip", test_skip },
		{ "ULEB128", test_uleb },
		{ "SLEB128", test_sleb },
		{ "beyond 64 bits", test_beyond_64_bits },
	};

	return test_main(tests, OW_ARRAY_SIZE(tests));
}
