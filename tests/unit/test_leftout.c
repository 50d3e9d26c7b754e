// SPDX-License-Identifier: BSD-2-Clause
/* Lines of what is left out: their order, and whose files take their places. */
#include "leftout.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <outwind/outwind.h>

#include "object.h"
#include "scratch.h"
#include "test.h"

enum {
	NR = 200,
	PLACES = 64
};

static void check_line(size_t i, const char *want)
{
	const char *line = ow_left_out(i);

	CHECK(line && strcmp(line, want) == 0);
}

static void refuse(const char *path)
{
	struct ow_object *obj = ow_object_open(path, NULL);

	CHECK(obj);
	ow_object_refuse(obj, -OW_CODE_MEMORY, "its DWARF");
	ow_object_close(obj);
}

/* A file that anybody may write to is anybody's. */
static void test_order(void)
{
	CHECK(scratch_run("cp /proc/self/exe any; cp any ours; "
			  "chmod 0777 any; chmod 0755 ours"));
	refuse("any");
	ow_leave_out("/others", "a");
	refuse("ours");
	ow_doubt("/others", "b");
	refuse("ours");
	check_line(0, "ours: its DWARF would take more memory than it may "
		      "(--memory-limit): left out");
	check_line(1, "any: its DWARF would take more memory than it may "
		      "(--memory-limit): left out");
	check_line(2, "/others: a: left out");
	check_line(3, "/others: b");
	CHECK(!ow_left_out(4) && !ow_left_out(SIZE_MAX));
	CHECK(ow_nr_left_out() == 4);
}

/* After the lines of test_order(). */
static void test_places(void)
{
	char path[32];

	for (int i = 0; i < OW_MOST_COUNTED; i++) {
		snprintf(path, sizeof(path), "/others/%d", i);
		ow_leave_out(path, "a");
	}
	check_line(PLACES, "/others/60: a: left out");
	CHECK(!ow_left_out(PLACES + 1));
	ow_leave_out_ours("/ours", "b");
	check_line(1, "/ours: b: left out");
	check_line(PLACES + 1, "/others/60: a: left out");
	for (int i = 0; i < NR; i++) {
		snprintf(path, sizeof(path), "/ours/%d", i);
		ow_leave_out_ours(path, "b");
	}
	check_line(PLACES - 1, "/ours/61: b: left out");
	check_line(2 * PLACES - 1, "/others/60: a: left out");
	CHECK(!ow_left_out(2 * PLACES));
	CHECK(ow_nr_left_out() == OW_MOST_COUNTED);
}

/* However many lines there are of other users' files. */
static void test_many(void)
{
	char path[32];

	for (int i = 0; i < 2 * OW_MOST_COUNTED; i++) {
		snprintf(path, sizeof(path), "/more/%d", i);
		ow_lose_file(path, "a");
		ow_leave_out(path, "a");
	}
	CHECK(ow_nr_left_out() == OW_MOST_COUNTED);
	CHECK(ow_nr_lost_lines() == OW_MOST_COUNTED);
}

int main(void)
{
	static const struct test tests[] = {
		{ "order", test_order },
		{ "places", test_places },
		{ "many", test_many },
	};

	scratch_enter();
	return test_main(tests, OW_ARRAY_SIZE(tests));
}
