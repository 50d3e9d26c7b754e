// SPDX-License-Identifier: BSD-2-Clause
/* What the writers print numbers and text with, beside printf(). */
#include "stackview.h"

#include <stdlib.h>
#include <string.h>

#include "test.h"

/* A stream into memory, and what was put there. */
static char *text;
static size_t size;

static FILE *open_text(void)
{
	FILE *out = open_memstream(&text, &size);

	if (!out)
		abort();
	return out;
}

static bool close_text(FILE *out, const char *want)
{
	bool same;

	fclose(out);
	same = strcmp(text, want) == 0;
	if (!same)
		printf("# '%s', not '%s'\n", text, want);
	free(text);
	return same;
}

static const uint64_t values[] = {
	0, 1, 0xf, 0x10, 0x5560f2c3e312, 0x8000000000000000, UINT64_MAX,
};

#define NR_VALUES OW_ARRAY_SIZE(values)

static void test_hex(void)
{
	for (size_t i = 0; i < NR_VALUES; i++) {
		FILE *out = open_text();
		char want[32];

		snprintf(want, sizeof(want), "%#llx",
			 (unsigned long long)values[i]);
		ow_view_put_hex(out, values[i]);
		CHECK(close_text(out, want));
		out = open_text();
		snprintf(want, sizeof(want), "%016llx",
			 (unsigned long long)values[i]);
		ow_view_put_digits(out, values[i]);
		CHECK(close_text(out, want));
	}
}

static void test_place(void)
{
	static const size_t numbers[] = { 0,   9,    10,     99,      100,
					  999, 1000, 999999, SIZE_MAX };

	for (size_t n = 0; n < OW_ARRAY_SIZE(numbers); n++) {
		for (size_t i = 0; i < NR_VALUES; i++) {
			FILE *out = open_text();
			char want[64];

			snprintf(want, sizeof(want), "#%-3zu %#018llx",
				 numbers[n], (unsigned long long)values[i]);
			ow_view_put_place(out, numbers[n], values[i]);
			CHECK(close_text(out, want));
		}
	}
}

static void check_clean(const char *in, const char *want)
{
	FILE *out = open_text();

	ow_view_put_clean(out, in);
	CHECK(close_text(out, want));
}

static void test_clean(void)
{
	check_clean("", "");
	check_clean("main", "main");
	check_clean("\x1b[2J", "?[2J");
	check_clean("a\tb\nc\x7f", "a?b?c?");
	check_clean("\xc3\xbc"
		    "ber\xe2\x82\xac x \xf0\x9f\x98\x80!",
		    "\xc3\xbc"
		    "ber\xe2\x82\xac x \xf0\x9f\x98\x80!");
	check_clean("before\xc2\x9b"
		    "after",
		    "before?after");
	check_clean("\xff\xc3", "??");
	/* U+200E, U+2028, U+202E, U+2066, U+2069 and U+061C. */
	check_clean("a\xe2\x80\x8e"
		    "b\xe2\x80\xa8\xe2\x80\xae"
		    "c",
		    "a?b??c");
	check_clean("\xe2\x81\xa6\xe2\x81\xa9\xd8\x9c", "???");
	/* Their neighbours: U+2010, U+2027, U+202F, U+061D. */
	check_clean("\xe2\x80\x90\xe2\x80\xa7\xe2\x80\xaf\xd8\x9d",
		    "\xe2\x80\x90\xe2\x80\xa7\xe2\x80\xaf\xd8\x9d");
}

/* What nobody sees: names that differ by it look alike. */
static void test_unseen(void)
{
	/* U+00AD, U+034F, U+115F, U+17B4, U+180E, U+200B, U+200D, U+2060. */
	check_clean("m\xc2\xad"
		    "a\xcd\x8f"
		    "i\xe1\x85\x9f"
		    "n",
		    "m?a?i?n");
	check_clean("\xe1\x9e\xb4\xe1\xa0\x8e\xe2\x80\x8b\xe2\x80\x8d"
		    "\xe2\x81\xa0",
		    "?????");
	/* U+3164, U+FE0F, U+FEFF, U+FFA0, U+1D173, U+E0001, U+E0041, U+E0FFF. */
	check_clean("\xe3\x85\xa4\xef\xb8\x8f\xef\xbb\xbf\xef\xbe\xa0", "????");
	check_clean("\xf0\x9d\x85\xb3\xf3\xa0\x80\x81\xf3\xa0\x81\x81"
		    "\xf3\xa0\xbf\xbf",
		    "????");
	/* Their neighbours: U+00AE, U+0350, U+FE10, U+FF9F, U+1D17B, U+DFFFF. */
	check_clean("\xc2\xae\xcd\x90\xef\xb8\x90\xef\xbe\x9f",
		    "\xc2\xae\xcd\x90\xef\xb8\x90\xef\xbe\x9f");
	check_clean("\xf0\x9d\x85\xbb\xf3\x9f\xbf\xbf\xf3\xa1\x80\x80",
		    "\xf0\x9d\x85\xbb\xf3\x9f\xbf\xbf\xf3\xa1\x80\x80");
}

static void test_json_strings(void)
{
	FILE *out = open_text();

	ow_json_writer.begin(out, 7,
			     "/a\"b\\c\x01\n\x7f\xc2\x9b\xe2\x80\xae \xc3\xbc"
			     "\xf3\xa0\x81\x81\xf0\x9f\x98\x80\xff\xe2\x82/\"");
	ow_json_writer.end(out);
	CHECK(close_text(out, "{\"pid\":7,\"program\":\"/a\\\"b\\\\c"
			      "\\u0001\\u000a\\u007f\\u009b\\u202e \xc3\xbc"
			      "\\udb40\\udc41\xf0\x9f\x98\x80"
			      "\\ufffd\\ufffd"
			      "\\ufffd/\\\"\",\"threads\":[]}\n"));
}

/* A snapshot's text is as it is: its last line may lack an end. */
static void check_kernel_stack(const struct ow_view_writer *writer,
			       const char *lines, const char *want)
{
	char *copy = strdup(lines);
	const struct ow_thread t = { .tid = 7,
				     .name = "x",
				     .state = 'S',
				     .kernel_stack = copy,
				     .why.msg = "gone" };
	const struct ow_view view = { .thread = &t, .number = 1 };
	FILE *out = open_text();

	writer->thread(out, &view, true, OW_VIEW_KERNEL);
	CHECK(close_text(out, want));
	free(copy);
}

static void test_kernel_stack(void)
{
	check_kernel_stack(&ow_text_writer, "a+0x1/0x2\n\x1b[2Jb",
			   "TID 7 \"x\" (S)\n"
			   "    kernel: a+0x1/0x2\n"
			   "    kernel: ?[2Jb\n"
			   "    no stack: gone\n");
	check_kernel_stack(&ow_text_writer, "a\n",
			   "TID 7 \"x\" (S)\n"
			   "    kernel: a\n"
			   "    no stack: gone\n");
	check_kernel_stack(&ow_json_writer, "a\nb",
			   "\n {\"tid\":7,\"name\":\"x\",\"state\":\"S\","
			   "\"kernel_stack\":[\"a\",\"b\"],"
			   "\"error\":\"gone\"}");
}

/* The folded line of one frame of that name. */
static void check_folded(struct ow_name *name, const char *want)
{
	struct ow_thread thread = { .tid = 7, .name = "x", .captured = true };
	struct ow_view_frame frame = { .frame.pc = 0x1234,
				       .names = name,
				       .nr_names = 1 };
	struct ow_view view = { .pid = 7,
				.thread = &thread,
				.frames = &frame,
				.nr = 1,
				.end = OW_END_OUTERMOST };
	FILE *out = open_text();

	ow_folded_writer.thread(out, &view, true, 0);
	CHECK(close_text(out, want));
}

static void check_unnamed(const char *module, uint64_t start, const char *want)
{
	struct ow_name name = { .module = module, .start = start };

	check_folded(&name, want);
}

/* A function isn't taken for a mark, or for one of the kernel's. */
static void test_folded_function(void)
{
	check_folded(&(struct ow_name){ .function = "main" }, "x;main 1\n");
	check_folded(&(struct ow_name){ .function = "[truncated]" },
		     "x;\\[truncated] 1\n");
	check_folded(&(struct ow_name){ .function = "schedule_[k]" },
		     "x;schedule_[k]\\ 1\n");
}

static void test_unnamed(void)
{
	check_unnamed(NULL, 0, "x;0x1234 1\n");
	check_unnamed("/lib/a;b", 0x10, "x;a:b+0x10 1\n");
	check_unnamed("/lib/a", 0, "x;[a] 1\n");
	check_unnamed("[vdso]", 0, "x;[vdso] 1\n");
	check_unnamed("[vdso]", 0x10, "x;[vdso] 1\n");
	/* A file may be called as what is none. */
	check_unnamed("/tmp/[vdso]", 0x10, "x;[[vdso]] 1\n");
}

int main(void)
{
	static const struct test tests[] = {
		{ "numbers in hexadecimal", test_hex },
		{ "a frame's number and pc", test_place },
		{ "text of the target", test_clean },
		{ "text that is not seen", test_unseen },
		{ "strings in JSON", test_json_strings },
		{ "a stack in the kernel", test_kernel_stack },
		{ "a function in a folded line", test_folded_function },
		{ "frames without a name", test_unnamed },
	};

	return test_main(tests, OW_ARRAY_SIZE(tests));
}
