// SPDX-License-Identifier: BSD-2-Clause
/* Tables as programs of the kernel read them. */
#include "tablemap.h"

#include <stdlib.h>

#include "error.h"
#include "scratch.h"
#include "tablegen.h"
#include "test.h"

#define FUNCTIONS 100

/* Functions that their table leaves to the CFI. */
static const char source[] = ".rept 100\n"
			     ".cfi_startproc\n"
			     ".cfi_escape 0x0f, 3, 0x77, 16, 0x06\n"
			     "nop\n"
			     "ret\n"
			     ".cfi_endproc\n"
			     ".endr\n";

/* Whoever has no time for rows that take long gets no table, and none of these are read. */
static void test_stop(void)
{
	struct ow_object *obj = ow_object_open("a.so", NULL);
	bool goes_on = false, stop = true;
	struct ow_bpf_object head;
	struct ow_table_stats stats;
	struct ow_table table;
	uint8_t *bytes, *map;
	size_t size;

	if (!obj || ow_object_load_cfi(obj, NULL))
		abort();
	bytes = ow_table_generate_all(obj, &size, &stats, NULL, NULL);
	CHECK(bytes && !ow_table_open(&table, bytes, size));
	map = ow_tablemap_make(obj, &table, &goes_on, &head, &size);
	CHECK(map && size > 0 && head.nr_extras >= FUNCTIONS);
	free(map);
	map = ow_tablemap_make(obj, &table, &stop, &head, &size);
	CHECK(!map && head.nr_extras <= 1);
	free(map);
	free(bytes);
	ow_object_close(obj);
}

int main(void)
{
	static const struct test tests[] = {
		{ "a table that is given up", test_stop },
	};

	scratch_enter();
	scratch_write("a.s", source);
	if (!scratch_run("cc -nostdlib -shared a.s -o a.so"))
		return 1;
	return test_main(tests, OW_ARRAY_SIZE(tests));
}
