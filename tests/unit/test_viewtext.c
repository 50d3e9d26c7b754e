// SPDX-License-Identifier: BSD-2-Clause
/* Names that take more text than there may be. */
#include "viewtext.h"

#include <string.h>

#include "test.h"

#define LONG 16384

static char long_name[LONG + 1], long_path[LONG + 1];

static void make_names(void)
{
	memset(long_name, 'x', LONG);
	memset(long_path, '/', LONG);
	memcpy(long_path + LONG - 5, "/file", 5);
}

/* A function into which a short one is inlined. */
static void fill(struct ow_name *names)
{
	names[0] = (struct ow_name){ .function = "short", .is_inline = true };
	names[1] = (struct ow_name){ .function = long_name,
				     .offset = 1,
				     .module = long_path,
				     .module_offset = 2 };
}

static void test_all_whole(void)
{
	struct viewtext t = { 0 };
	struct ow_name names[2];

	make_names();
	fill(names);
	CHECK(viewtext_take(&t, names, 2) == 2);
	CHECK(names[1].function == long_name && names[1].module == long_path);
	CHECK(t.used == 2 * LONG + strlen("short"));
	CHECK(t.nr_cut == 0);
}

static void test_beyond(void)
{
	struct viewtext t = { .used = VIEWTEXT_MOST - LONG };
	struct ow_name names[2], name = { .function = "short" };

	make_names();
	fill(names);
	CHECK(viewtext_take(&t, names, 2) == 1);
	CHECK(!names[0].function && !names[0].offset && !names[0].is_inline);
	CHECK(strcmp(names[0].module, "file") == 0);
	CHECK(names[0].module_offset == 2);
	CHECK(t.nr_cut == 1);

	/* From then on only what is short. */
	CHECK(viewtext_take(&t, &name, 1) == 1);
	CHECK(strcmp(name.function, "short") == 0);
	CHECK(t.nr_cut == 1);
	CHECK(t.used == VIEWTEXT_MOST);
}

static uint64_t size_of(const char *function)
{
	struct viewtext t = { 0 };
	struct ow_name name = { .function = function };

	viewtext_take(&t, &name, 1);
	return t.used;
}

static void test_escapes(void)
{
	CHECK(size_of("a\x1b") == 1 + strlen("\\u001b"));
	CHECK(size_of("\"\\") == strlen("\\\"\\\\"));
	/* No UTF-8, and a character that ends early. */
	CHECK(size_of("\xff") == strlen("\\ufffd"));
	CHECK(size_of("\xe2\x80") == 2 * strlen("\\ufffd"));
	/* One that changes the order of others, one of 17 bits, and some that print. */
	CHECK(size_of("\xe2\x80\xae") == strlen("\\u202e"));
	CHECK(size_of("\xf3\xa0\x80\x81") == strlen("\\udb40\\udc01"));
	CHECK(size_of("\xc3\xa4\xe2\x82\xac") == 5);
}

static void test_sizes(void)
{
	struct viewtext t = { .longest = 512 };
	struct ow_name name = { .function = long_name };

	make_names();
	viewtext_take(&t, &name, 1);
	CHECK(t.used == 512);
	/* As JSON escapes it. */
	name.function = "a\x1b";
	viewtext_take(&t, &name, 1);
	CHECK(t.used == 512 + 1 + strlen("\\u001b"));
}

/* However many frames threads have, each has its innermost one at least. */
static void test_all_lines(void)
{
	struct ow_name names[2] = { { .function = "short" },
				    { .function = "short" } };
	struct viewtext t = { 0 };
	char line[VIEWTEXT_LINE];
	size_t threads, nr = 0, fit;

	for (threads = 0; threads < 20000; threads++) {
		fit = viewtext_fit(&t, 1024);
		CHECK(fit >= 1);
		nr += fit;
		while (fit-- > 0)
			viewtext_take(&t, names, 2);
	}
	/* Two lines a frame, and two short names. */
	CHECK(nr >= VIEWTEXT_WHOLE / (2 * (VIEWTEXT_FRAME + 5)) &&
	      nr < VIEWTEXT_WHOLE / (2 * (VIEWTEXT_FRAME + 5)) + 22000);
	CHECK(t.nr_left_out == 20000 * 1024 - nr);
	CHECK(t.nr_short && t.nr_cut == 0);
	CHECK(viewtext_short_line(&t, line) && !viewtext_line(&t, line));
	CHECK(viewtext_fit(&t, 0) == 0);
}

int main(void)
{
	static const struct test tests[] = {
		{ "names that fit in are whole", test_all_whole },
		{ "names that don't fit in", test_beyond },
		{ "what a format shows counts", test_sizes },
		{ "escapes of JSON count", test_escapes },
		{ "lines of all frames", test_all_lines },
	};

	return test_main(tests, OW_ARRAY_SIZE(tests));
}
