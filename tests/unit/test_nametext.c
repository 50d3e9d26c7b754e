// SPDX-License-Identifier: BSD-2-Clause
/* Symbols out of lines of text. */
#include <stdlib.h>
#include <string.h>

#include "budget.h"
#include "nametext.h"
#include "test.h"

/* Not terminated, and with the byte of room that the table asks for. */
static struct ow_nametext *table_of(const char *text, enum ow_aliases aliases)
{
	size_t size = strlen(text);
	struct ow_text copy = { malloc(size + 1), size, 0, "text" };

	memcpy(copy.bytes, text, size);
	return ow_nametext_create(&copy, aliases);
}

static struct ow_nametext *table(const char *text)
{
	return table_of(text, OW_ALIASES_LAST);
}

static bool finds(struct ow_nametext *t, uint64_t addr, const char *name,
		  uint64_t offset)
{
	const char *got = "?";
	uint64_t got_offset = 0;

	return ow_nametext_find(t, addr, &got, &got_offset) &&
	       strcmp(got, name) == 0 && got_offset == offset;
}

static void test_order(void)
{
	struct ow_nametext *t = table("2000 t b\n1000 T a\n3000 D c");
	const char *name;
	uint64_t offset;

	CHECK(ow_nametext_nr(t) == 3);
	CHECK(!ow_nametext_find(t, 0xfff, &name, &offset));
	CHECK(finds(t, 0x1000, "a", 0));
	CHECK(finds(t, 0x1fff, "a", 0xfff));
	CHECK(finds(t, 0x2000, "b", 0));
	CHECK(finds(t, UINT64_MAX, "c", UINT64_MAX - 0x3000));
	ow_nametext_destroy(t);
}

static void test_last_alias(void)
{
	struct ow_nametext *t = table("10 T a\n20 T c\n10 t b\n10 W d\n");

	CHECK(ow_nametext_nr(t) == 2);
	CHECK(finds(t, 0x1f, "d", 0xf));
	ow_nametext_destroy(t);
}

/* As a kernel has them, and as nm(1) puts the same. */
static void test_plain_alias(void)
{
	static const char *const texts[] = {
		"10 T idle\n10 t idle2\n10 T __text_start\n20 T __a\n20 T __b\n",
		"10 T __text_start\n20 T __a\n10 T idle\n10 t idle2\n20 T __b\n",
	};

	for (size_t i = 0; i < 2; i++) {
		struct ow_nametext *t = table_of(texts[i], OW_ALIASES_PLAIN);

		CHECK(ow_nametext_nr(t) == 2);
		CHECK(finds(t, 0x1f, "idle", 0xf));
		CHECK(finds(t, 0x20, "__a", 0));
		ow_nametext_destroy(t);
	}
}

static void test_address_of_any_alias(void)
{
	struct ow_nametext *t = table_of("10 T srso\n10 T _stext\n"
					 "20 T a\n30 T _x\n30 T x\n",
					 OW_ALIASES_PLAIN);
	uint64_t addr = 0;

	CHECK(ow_nametext_nr(t) == 3);
	CHECK(ow_nametext_address(t, "_stext", &addr) && addr == 0x10);
	CHECK(ow_nametext_address(t, "srso", &addr) && addr == 0x10);
	CHECK(ow_nametext_address(t, "_x", &addr) && addr == 0x30);
	CHECK(ow_nametext_address(t, "x", &addr) && addr == 0x30);
	CHECK(!ow_nametext_address(t, "y", &addr));
	CHECK(finds(t, 0x1f, "srso", 0xf));
	CHECK(finds(t, 0x2f, "a", 0xf));
	CHECK(finds(t, 0x30, "x", 0));
	ow_nametext_destroy(t);
}

static void test_lines_that_are_none(void)
{
	struct ow_nametext *t = table("\n  \nU x\n         U x\n10\n10 T\n"
				      "1g T x\n10000000000000000 T x\n10 TT x");

	CHECK(ow_nametext_nr(t) == 0);
	ow_nametext_destroy(t);
}

static void test_hidden_addresses(void)
{
	struct ow_nametext *t = table("0 T a\n0 T b\n0 T c\n");

	CHECK(ow_nametext_nr(t) == 0);
	ow_nametext_destroy(t);
	t = table("0 T a\n");
	CHECK(finds(t, 4, "a", 4));
	ow_nametext_destroy(t);
	t = table("0 T a\n0 T b\n8 T c\n");
	CHECK(finds(t, 4, "b", 4));
	ow_nametext_destroy(t);
}

static void test_shortest_lines(void)
{
	struct ow_nametext *t = table("1 T a\n2 T b\n3 T c");

	CHECK(ow_nametext_nr(t) == 3);
	CHECK(finds(t, 3, "c", 0));
	ow_nametext_destroy(t);
	t = table("");
	CHECK(ow_nametext_nr(t) == 0);
	ow_nametext_destroy(t);
}

static void test_budget(void)
{
	static char lines[6 * 1000 + 1];
	struct ow_nametext *t;
	int i;

	for (i = 0; i < 1000; i++)
		snprintf(lines + 6 * i, 7, "%x T %c\n", i & 15, 'a' + i % 26);
	ow_memory_limit(4 * 24 * 100);
	t = table(lines);
	CHECK(ow_nametext_nr(t) == 16);
	CHECK(finds(t, 3, "v", 0)); /* line 99 */
	CHECK(strstr(ow_left_out(0),
		     "text: some of its lines would take more"));
	ow_nametext_destroy(t);
	CHECK(ow_budget_share(0) == 24 * 100);
	ow_memory_limit((uint64_t)512 << 20);
	t = table(lines);
	CHECK(ow_nametext_nr(t) == 16 && !ow_left_out(1));
	ow_nametext_destroy(t);
}

int main(void)
{
	static const struct test tests[] = {
		{ "any order, nearest below", test_order },
		{ "the last of one address", test_last_alias },
		{ "the plain one of one address", test_plain_alias },
		{ "the address of any alias", test_address_of_any_alias },
		{ "lines that are no symbols", test_lines_that_are_none },
		{ "addresses that are hidden", test_hidden_addresses },
		{ "lines as short as can be", test_shortest_lines },
		{ "more lines than there is memory for", test_budget },
	};

	return test_main(tests, sizeof(tests) / sizeof(*tests));
}
